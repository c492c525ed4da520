//! Short names for texts: equal for equal texts, in every run and on every system, and without the text.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use sha2::{Digest as _, Sha256};

/// The first 64 bits of a SHA-256, written as 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Fingerprint(u64);

/// A fingerprint in the making, of several texts that cannot run into each other.
#[derive(Debug, Clone)]
pub(crate) struct Digest(Sha256);

impl Digest {
    /// `of` tells apart what has the same texts but means something else.
    pub(crate) fn new(of: &str) -> Self {
        Self(Sha256::new()).and(of)
    }

    pub(crate) fn and(mut self, text: &str) -> Self {
        self.add(text);
        self
    }

    pub(crate) fn add(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
    }

    pub(crate) fn finish(self) -> Fingerprint {
        let digest = self.0.finalize();
        let start = digest.first_chunk().expect("a SHA-256 has 32 bytes");
        Fingerprint(u64::from_be_bytes(*start))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_ours = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = is_ours.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        number.map(Self).ok_or("must be 16 hexadecimal digits")
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_never_changes() {
        assert_eq!(Digest::new("turn").and("Hello!").finish().to_string(), "a57010ba77f4530b");
    }

    #[test]
    fn texts_do_not_run_into_each_other() {
        let of = |parts: [&str; 2]| Digest::new("").and(parts[0]).and(parts[1]).finish();
        assert_ne!(of(["ab", "c"]), of(["a", "bc"]));
    }

    #[test]
    fn a_fingerprint_is_read_as_it_is_written() {
        let fingerprint = Digest::new("x").finish();
        assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
        for bad in ["", "5c6d", "+c6d66e73c5d8c5e", "xc6d66e73c5d8c5e", "5c6d66e73c5d8c5e0"] {
            assert!(bad.parse::<Fingerprint>().is_err(), "{bad}");
        }
    }
}
