//! The words of texts.

use super::dictionary::Keys;
use super::text::Text;
use crate::error::{Result, checked_count};

/// The words of all keys in order, and for each the position of the key that contains it.
///
/// A word is a run of letters (with their accents), digits and `_` of any script; with `lower`, in lower case.
///
/// # Errors
/// [`crate::Error::TooLarge`].
pub fn words(keys: &Keys, lower: bool) -> Result<(Text, Vec<u32>)> {
    let mut text = Text::with_capacity(keys.len(), keys.text().bytes().len());
    let mut owners = Vec::with_capacity(keys.len());
    for position in 0..keys.len() {
        // Every way into a dictionary checks UTF-8.
        let key = String::from_utf8_lossy(keys.at(position));
        let words = key.split(|letter| !of_a_word(letter));
        for word in words.filter(|word| !word.is_empty()) {
            if lower && !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
                text.extend(word.to_lowercase().as_bytes());
            } else {
                text.extend(word.as_bytes());
            }
            text.close();
            owners.push(position as u32);
        }
    }
    checked_count("words", owners.len())?;
    Ok((text, owners))
}

fn of_a_word(letter: char) -> bool {
    // Accents may be characters of their own.
    letter.is_alphanumeric() || letter == '_' || ('\u{300}'..='\u{36f}').contains(&letter)
}
