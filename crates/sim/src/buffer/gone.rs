//! Pages that are gone: their write failed on its way to flash, and nobody has what it was to write.

use super::state::Buffer;
use flashraid_vocabulary::Lpn;

impl Buffer {
    /// Whether any page may be gone.
    #[inline]
    pub fn has_gone(&self) -> bool {
        !self.gone.is_empty()
    }

    /// Whether the newest content of the page is lost. Flash may still give an older one, and its redundancy too, which nobody must read.
    #[inline]
    pub fn is_gone(&self, lpn: Lpn) -> bool {
        self.has_gone() && self.gone.contains(&lpn.0) && !self.renews(lpn)
    }

    /// Pages that are gone.
    pub fn count_gone(&self) -> usize {
        self.gone.iter().filter(|lpn| self.is_gone(Lpn(**lpn))).count()
    }

    /// Pages for which this holds, and that are not on their way, are good again: flash has nothing of them.
    pub fn forget_gone(&mut self, mut is_unwritten: impl FnMut(Lpn) -> bool) {
        let Self { gone, on_flash, departures, .. } = self;
        gone.retain(|lpn| {
            let stays = departures.pages.contains_key(&(*lpn as u32)) || !is_unwritten(Lpn(*lpn));
            if !stays {
                on_flash.clear(Lpn(*lpn));
            }
            stays
        });
    }

    /// Whether it has all of the page, or a discard of it on the way: whatever flash holds then does not count.
    fn renews(&self, lpn: Lpn) -> bool {
        self.find(lpn).is_some_and(|entry| self.is_whole(Some(self.sectors(entry))))
            || self.departures(lpn).any(|departure| self.is_whole(departure.sectors))
    }

    /// Whether a write of these sectors, or a trim, leaves nothing of what a page was before.
    pub(super) fn is_whole(&self, sectors: Option<u64>) -> bool {
        sectors.is_none_or(|sectors| sectors == self.all_sectors())
    }
}
