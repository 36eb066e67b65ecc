//! Bytes of records that are no text.

/// `N` bytes of a record.
#[inline(always)]
pub(crate) fn bytes_at<const N: usize>(record: &[u8], position: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&record[position..position + N]);
    bytes
}
