//! The parameters that all certificates have.

use std::time::Duration;

use jiff::Timestamp;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyUsagePurpose, date_time_ymd};

use super::validity::{Moment, days};

/// Time by which certificates are backdated, because clocks differ.
const BACKDATED_DAYS: i64 = 1;

/// Returns the parameters of every certificate: name, validity, use.
pub(super) fn parameters(common_name: &str, now: Moment, end: Moment) -> CertificateParams {
    let date = |moment: Moment| {
        let moment = Timestamp::from_second(moment).unwrap_or(Timestamp::MAX);
        let date = moment.to_zoned(jiff::tz::TimeZone::UTC).date();
        date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
    };
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, common_name);
    parameters.not_before = date(now - days(BACKDATED_DAYS));
    parameters.not_after = date(end);
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.use_authority_key_identifier_extension = true;
    parameters
}

/// Returns the same parameters, with an end to the second: that of a certificate that is renewed is a day.
pub(super) fn parameters_until(common_name: &str, now: Moment, end: Moment) -> CertificateParams {
    let since_epoch = Duration::from_secs(u64::try_from(end).unwrap_or(0));
    let mut parameters = parameters(common_name, now, end);
    parameters.not_after = date_time_ymd(1970, 1, 1) + since_epoch;
    parameters
}
