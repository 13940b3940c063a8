//! What a player is called and proves to be.

use std::fmt;
use std::str::FromStr;

use unicode_normalization::UnicodeNormalization;

/// What is behind an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "lowercase")]
pub enum PlayerKind {
    /// Plays without an account; known by its tokens alone.
    Guest,
    /// Claimed a name and a password.
    Human,
    /// A program, said so by its owner.
    Bot,
    /// The service's own computer player.
    Cpu,
}

impl PlayerKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Guest, Self::Human, Self::Bot, Self::Cpu];

    /// The word on the wire and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guest => "guest",
            Self::Human => "human",
            Self::Bot => "bot",
            Self::Cpu => "cpu",
        }
    }
}

/// Why a name or a password is not taken. Its text is for the one who chose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(&'static str);

/// A handle: 3 to 20 ASCII letters, digits, `-` and `_`, a letter first. Unique without regard to case.
///
/// ASCII alone, so that no two handles look the same in another script; free text has the display name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Username(String);

const RESERVED: [&str; 27] = [
    "admin",
    "administrator",
    "anonymous",
    "api",
    "bot",
    "cpu",
    "deleted",
    "guest",
    "hasami",
    "help",
    "host",
    "info",
    "ladder",
    "me",
    "mod",
    "moderator",
    "null",
    "official",
    "root",
    "security",
    "server",
    "service",
    "staff",
    "support",
    "system",
    "undefined",
    "webmaster",
];

impl Username {
    /// The handle as its owner wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A handle that a person may choose: any but the reserved ones and those that read like them.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn choose(text: &str) -> Result<Self, Unfit> {
        let name: Self = text.parse()?;
        let plain = |text: &str| -> String {
            let letters = text.chars().filter(char::is_ascii_alphanumeric);
            let read = letters.map(|c| match c.to_ascii_lowercase() {
                '0' => 'o',
                '1' => 'i',
                '3' => 'e',
                '4' => 'a',
                '5' => 's',
                '7' => 't',
                c => c,
            });
            read.collect()
        };
        // Digits at the end are a number rather than letters in disguise, or both.
        let word = text.trim_end_matches(|c: char| !c.is_ascii_alphabetic());
        // `l` stands for `i` as well as for itself.
        let reserved =
            |word: &str| RESERVED.iter().any(|r| *r == word || r.replace('l', "i") == word.replace('l', "i"));
        let lower = text.to_ascii_lowercase();
        if reserved(&plain(text)) || reserved(&plain(word)) || lower.starts_with("guest-") || lower.starts_with("cpu-")
        {
            return Err(Unfit("this username is reserved"));
        }
        Ok(name)
    }

    /// The handle of a new guest: `guest-` and eight characters, of which there are 10^12.
    #[must_use]
    pub fn guest(random: [u8; 8]) -> Self {
        // No letter or digit that is read for another.
        const SAFE: &[u8; 32] = b"23456789abcdefghjkmnpqrstuvwxyz-";
        let tail = random.iter().map(|b| char::from(SAFE[usize::from(b % 31)]));
        Self(format!("guest-{}", tail.collect::<String>()))
    }
}

impl FromStr for Username {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<Self, Unfit> {
        if !text.is_ascii() {
            return Err(Unfit(
                "a username has only the letters a to z, digits, - and _; use display_name for anything else",
            ));
        }
        if !(3..=20).contains(&text.len()) {
            return Err(Unfit("a username has 3 to 20 characters"));
        }
        if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(Unfit("a username begins with a letter"));
        }
        if !text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
            return Err(Unfit("a username has only the letters a to z, digits, - and _"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Username {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Free text shown beside the handle: 1 to 40 characters in NFC, nothing invisible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayName(String);

impl DisplayName {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DisplayName {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<Self, Unfit> {
        let text: String = text.trim().nfc().collect();
        if !(1..=40).contains(&text.chars().count()) {
            return Err(Unfit("a display name has 1 to 40 characters"));
        }
        if text.chars().any(is_invisible) {
            return Err(Unfit(
                "a display name has no control characters and none that are invisible or turn the writing direction",
            ));
        }
        Ok(Self(text))
    }
}

/// Control characters, and the format characters with which a name can hide text or pass for another.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// A password on its way to the hash: 8 to 128 characters, counted and hashed in NFC. It is never printed.
pub struct Password(String);

impl Password {
    /// The bytes to hash.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

impl FromStr for Password {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<Self, Unfit> {
        let text: String = text.nfc().collect();
        if text.chars().any(char::is_control) {
            return Err(Unfit("a password has no control characters"));
        }
        if (8..=128).contains(&text.chars().count()) {
            Ok(Self(text))
        } else {
            Err(Unfit("a password has 8 to 128 characters"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_plain() {
        for good in ["Ana", "ana-b_9", "abcdefghijklmnopqrst"] {
            assert_eq!(Username::choose(good).map(|n| n.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", "ab", "abcdefghijklmnopqrstu", "9ana", "-ana", "an a", "ana\0", "аnа", "ａｎａ", "añа", "ana.b"]
        {
            assert!(bad.parse::<Username>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn reserved_words_are_refused_in_disguise_too() {
        for bad in [
            "admin",
            "ADMIN",
            "adm1n",
            "a-d-m-i-n",
            "Adm_in",
            "r00t",
            "admin1",
            "guest",
            "guest-abc",
            "cpu-3",
            "0fficial",
            "officiai",
        ] {
            assert!(Username::choose(bad).is_err(), "{bad:?}");
        }
        assert!(Username::choose("rooted").is_ok() && Username::choose("administer").is_ok());
    }

    #[test]
    fn guests_have_handles_that_parse() {
        for byte in 0..=255 {
            assert!(Username::guest([byte; 8]).as_str().parse::<Username>().is_ok());
        }
    }

    #[test]
    fn display_names_show_what_they_are() {
        assert_eq!("  Ana 花 ".parse::<DisplayName>().unwrap().as_str(), "Ana 花");
        assert_eq!("e\u{301}".parse::<DisplayName>().unwrap().as_str(), "é");
        for bad in ["", "   ", "a\0b", "a\u{202e}b", "a\u{200b}", "a\nb", &"x".repeat(41)] {
            assert!(bad.parse::<DisplayName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn passwords_are_counted_in_nfc() {
        assert!("e\u{301}".repeat(8).parse::<Password>().is_ok());
        assert!("e\u{301}".repeat(7).parse::<Password>().is_err());
        assert!("x".repeat(129).parse::<Password>().is_err());
        assert!("correct\0horse".parse::<Password>().is_err());
    }
}
