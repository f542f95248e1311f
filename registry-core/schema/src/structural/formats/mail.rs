//! Mail addresses as Go's `mail.ParseAddress` accepts them (RFC 5322).

/// Maximum nesting depth of comments.
const MAX_COMMENT_DEPTH: usize = 32;

/// The rest of the text.
struct Parser<'t>(&'t str);

/// Whether the text is an address such as `a@example.com` or `A Name <a@example.com>`.
pub(super) fn is_address(text: &str) -> bool {
    let mut parser = Parser(text);
    parser.address().is_some() && parser.0.is_empty()
}

// === impl Parser ===

impl<'t> Parser<'t> {
    /// Parses an address with nothing around it but spaces and comments.
    fn address(&mut self) -> Option<()> {
        self.skip_space()?;
        let start = self.0;
        if self.plain_address().is_some() {
            return self.skip_space();
        }
        self.0 = start;
        if !self.0.starts_with('<') {
            self.phrase()?;
        }
        self.skip_space()?;
        self.take("<")?;
        self.plain_address()?;
        self.take(">")?;
        self.skip_space()
    }

    /// Parses `local@domain`.
    fn plain_address(&mut self) -> Option<()> {
        self.skip_space()?;
        if self.0.starts_with('"') {
            // An empty local part must be quoted, and then still is empty.
            if self.quoted_text()?.is_empty() {
                return None;
            }
        } else {
            self.atom(true, false)?;
        }
        self.skip_space()?;
        self.take("@")?;
        self.skip_space()?;
        if self.0.starts_with('[') { self.domain_literal() } else { self.atom(true, false).map(|_| ()) }
    }

    /// Parses the words of a name.
    fn phrase(&mut self) -> Option<()> {
        let mut words = 0;
        loop {
            self.skip_space()?;
            let word = if self.0.starts_with('"') { self.quoted_text() } else { self.atom(true, true) };
            match word {
                Some(_) => words += 1,
                None => return (words > 0).then_some(()),
            }
        }
    }

    /// Parses an atom; `with_dots`: several of them with dots between, `loosely`: dots anywhere.
    fn atom(&mut self, with_dots: bool, loosely: bool) -> Option<&'t str> {
        let is_atom = |letter: char| {
            letter.is_ascii_alphanumeric()
                || "!#$%&'*+-/=?^_`{|}~".contains(letter)
                || !letter.is_ascii()
                || (with_dots && letter == '.')
        };
        let after = self.0.trim_start_matches(is_atom);
        let atom = self.0.get(..self.0.len() - after.len()).filter(|atom| !atom.is_empty())?;
        if !loosely && (atom.starts_with('.') || atom.ends_with('.') || atom.contains("..")) {
            return None;
        }
        self.0 = after;
        Some(atom)
    }

    fn quoted_text(&mut self) -> Option<&'t str> {
        self.take("\"")?;
        let start = self.0;
        let mut letters = start.char_indices();
        while let Some((place, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.0 = start.get(place + 1..)?;
                    return start.get(..place);
                }
                '\\' => {
                    letters.next().filter(|(_, letter)| is_quotable(*letter))?;
                }
                letter if is_quotable(letter) => {}
                _ => return None,
            }
        }
        None
    }

    fn domain_literal(&mut self) -> Option<()> {
        self.take("[")?;
        let (address, after) = self.0.split_once(']')?;
        address.parse::<std::net::IpAddr>().ok()?;
        self.0 = after;
        Some(())
    }

    fn take(&mut self, mark: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(mark)?;
        Some(())
    }

    /// Skips spaces and comments.
    fn skip_space(&mut self) -> Option<()> {
        loop {
            self.0 = self.0.trim_start_matches([' ', '\t']);
            if !self.0.starts_with('(') {
                return Some(());
            }
            self.comment()?;
        }
    }

    fn comment(&mut self) -> Option<()> {
        let mut depth = 0;
        let mut letters = self.0.char_indices();
        while let Some((place, letter)) = letters.next() {
            match letter {
                '(' if depth == MAX_COMMENT_DEPTH => return None,
                '(' => depth += 1,
                ')' if depth == 1 => {
                    self.0 = self.0.get(place + 1..)?;
                    return Some(());
                }
                ')' => depth -= 1,
                '\\' => {
                    letters.next()?;
                }
                _ => {}
            }
        }
        None
    }
}

/// Whether a character can stand in a quoted text.
fn is_quotable(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '!'..='~') || !letter.is_ascii()
}
