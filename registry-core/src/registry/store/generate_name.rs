//! Names generated from `metadata.generateName`.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/names.SimpleNameGenerator`.

use uuid::Uuid;

/// No vowels and no similar characters: names do not spell words and can be read out.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_CHARACTERS: usize = 5;
const MAX_NAME_BYTES: usize = 63;
/// The bytes of a random UUID without version or variant bits.
const RANDOM_BYTES: [usize; 14] = [0, 1, 2, 3, 4, 5, 7, 9, 10, 11, 12, 13, 14, 15];

/// Returns a name that consists of `base` and a random suffix.
pub fn generate_name(base: &str) -> String {
    let mut length = base.len().min(MAX_NAME_BYTES - SUFFIX_CHARACTERS);
    while !base.is_char_boundary(length) {
        length -= 1;
    }
    let mut name = base.get(..length).unwrap_or_default().to_owned();
    let wanted = length + SUFFIX_CHARACTERS;
    while name.len() < wanted {
        let random = Uuid::new_v4().into_bytes();
        let bytes = RANDOM_BYTES.iter().filter_map(|at| random.get(*at));
        // Bytes beyond the last multiple would make some letters more likely than others.
        let fair = bytes.filter(|byte| usize::from(**byte) < 256 / ALPHABET.len() * ALPHABET.len());
        let letters = fair.filter_map(|byte| ALPHABET.get(usize::from(*byte) % ALPHABET.len()));
        name.extend(letters.take(wanted - name.len()).map(|letter| char::from(*letter)));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_keep_the_base_and_fit() {
        let short = generate_name("web-");
        assert_eq!(short.len(), 9);
        assert!(short.starts_with("web-"));
        assert!(short.bytes().skip(4).all(|byte| ALPHABET.contains(&byte)));
        assert_eq!(generate_name(&"x".repeat(300)).len(), MAX_NAME_BYTES);
        assert_ne!(generate_name("web-"), generate_name("web-"));
    }
}
