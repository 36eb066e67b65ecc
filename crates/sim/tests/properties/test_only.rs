//! The test-only schemes and the test-only job under the same cases.
