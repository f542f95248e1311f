//! Lists of amounts of resources.

use resource_views::slot::{Fields, Slot};
use resource_views::{Map, Quantity as Amount, Typed as _};

/// The number of the smallest units that quantities have in a thousandth.
const NANOS_IN_THOUSANDTH: i128 = 1_000_000;

/// Rounds amounts up to thousandths. (`SetDefaults_ResourceList` in `pkg/apis/core/v1/defaults.go`.)
pub(crate) fn round_up(amounts: Slot<'_, Map<Amount<'_, '_>>>) {
    amounts.entries().into_iter().for_each(round_up_entries);
}

fn round_up_entries(amounts: &mut Fields) {
    for amount in amounts.values_mut() {
        // Amounts in canonical form show that they may be finer.
        let may_be_fine =
            amount.as_str().is_some_and(|text| text.ends_with(['n', 'u']) || text.contains("e-"));
        let Some(quantity) = Amount::from_value(amount).quantity().filter(|_| may_be_fine) else { continue };
        let is_fine = |nanos: &i128| nanos % NANOS_IN_THOUSANDTH != 0;
        if let Some(nanos) = quantity.nanos().filter(is_fine) {
            // Away from zero, as in Go.
            let thousandths = nanos / NANOS_IN_THOUSANDTH + nanos.signum();
            *amount = quantity.with_nanos(thousandths * NANOS_IN_THOUSANDTH).to_string().into();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_below_thousandths_are_rounded_up_in_their_notation() {
        for (given, expected) in [
            ("1", "1"),
            ("1m", "1m"),
            ("1n", "1m"),
            ("1500u", "2m"),
            ("-1500u", "-2m"),
            ("1e-3", "1e-3"),
            ("1e-9", "1e-3"),
            ("100e-6", "1e-3"),
            ("1500e-6", "2e-3"),
            ("1e3", "1e3"),
        ] {
            let mut amounts = Fields::new();
            amounts.insert("cpu".to_owned(), given.into());
            round_up_entries(&mut amounts);
            assert_eq!(amounts["cpu"], json!(expected), "{given}");
        }
    }
}
