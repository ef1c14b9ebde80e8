//! Parses and prints times for the command line. Uses the calendar, but never the clock.

use std::time::Duration;

/// Milliseconds in a day.
pub const DAY_MS: u64 = 86_400_000;

/// Parses a time: a day or a second in UTC, or milliseconds since 1970.
pub fn parse(text: &str) -> Result<u64, String> {
    if let Ok(ms) = text.parse() {
        return Ok(ms);
    }
    parse_date(text).ok_or_else(|| {
        "must be like 2024-12-31, 2024-12-31T23:59:59Z, or milliseconds since 1970".to_owned()
    })
}

/// A time as given, for messages, and in milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeGiven {
    /// As given.
    pub text: String,
    /// Milliseconds since 1970.
    pub ms: u64,
}

/// Same as [`parse`], for a time that a message may name.
pub fn given(text: &str) -> Result<TimeGiven, String> {
    Ok(TimeGiven { text: text.to_owned(), ms: parse(text)? })
}

/// Parses a duration that may be very short: a number with ms, or as [`span`] takes it.
pub fn short_span(text: &str) -> Result<Duration, String> {
    match text.strip_suffix("ms").map(str::parse) {
        Some(Ok(ms)) => Ok(Duration::from_millis(ms)),
        _ => span(text).map_err(|_| {
            "must be a number and a unit: 500ms, 2s (seconds), or with m, h, d, w".to_owned()
        }),
    }
}

/// Parses a duration: a number with s, m, h, d or w, such as 90d.
pub fn span(text: &str) -> Result<Duration, String> {
    let wrong = || "must be a number and a unit: 90d (days), or with s, m, h, w".to_owned();
    let number = text.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    let ms = match &text[number.len()..] {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => DAY_MS,
        "w" => 7 * DAY_MS,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    Ok(Duration::from_millis(number.saturating_mul(ms)))
}

/// Formats a time as a day in UTC: 2024-12-31.
pub fn day(ms: u64) -> String {
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": years start in March, in eras
    // of 400 years.
    let days = ms / DAY_MS + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Formats a time as a second in UTC: 2024-12-31T23:59:59Z.
pub fn second(ms: u64) -> String {
    let seconds = ms / 1_000 % 86_400;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", day(ms))
}

/// Formats a time in the time zone of this machine, as `strftime` does.
pub fn local(ms: i64, format: &str) -> String {
    let time = chrono::DateTime::from_timestamp_millis(ms);
    let local = time.map(|time| time.with_timezone(&chrono::Local).format(format).to_string());
    local.unwrap_or_else(|| "?".to_owned())
}

fn parse_date(text: &str) -> Option<u64> {
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, time.strip_suffix(['Z', 'z'])?),
        None => (text, "00:00:00"),
    };
    let [year, month, day] = fields(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = fields(time, ':', [2, 2, 2])?;
    let sound = (1970..=9999).contains(&year) && hour < 24 && minute < 60 && second < 60;
    if !sound || !(1..=12).contains(&month) || day == 0 || day > days_in(year, month) {
        return None;
    }
    let days = (1970..year).flat_map(|year| (1..=12).map(move |month| days_in(year, month)));
    let days = days.chain((1..month).map(|month| days_in(year, month))).sum::<u64>() + day - 1;
    Some(days * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1_000)
}

/// Parses three numbers that are separated by `between`. `digits` is the required number of digits
/// of each.
fn fields(text: &str, between: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(between);
    let mut fields = [0; 3];
    for (field, digits) in fields.iter_mut().zip(digits) {
        let part = parts.next()?;
        if part.len() != digits || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *field = part.parse().ok()?;
    }
    parts.next().is_none().then_some(fields)
}

fn days_in(year: u64, month: u64) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => 28 + u64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_shown_as_it_is_read() {
        for date in ["1970-01-01", "1999-12-31", "2000-02-29", "2024-12-31", "2100-03-01"] {
            let ms = parse(date).unwrap();
            assert_eq!((day(ms), day(ms + DAY_MS - 1)), (date.to_owned(), date.to_owned()));
            let last = second(ms + DAY_MS - 1);
            assert_eq!(
                (last.as_str(), parse(&last)),
                (&*format!("{date}T23:59:59Z"), Ok(ms + DAY_MS - 1_000))
            );
        }
        assert!(day(u64::MAX).starts_with("584556"), "{}", day(u64::MAX));
    }

    #[test]
    fn spans_have_a_unit() {
        let cases = [("0s", 0), ("45s", 45), ("2m", 120), ("1h", 3_600), ("90d", 7_776_000)];
        for (text, seconds) in cases {
            assert_eq!(span(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(span("2w"), span("14d"));
        assert_eq!(short_span("1500ms"), Ok(Duration::from_millis(1_500)));
        assert_eq!(short_span("2m"), span("120s"));
        for text in ["1500ms", "99999999999999999999w"] {
            assert!(span(text).is_err(), "{text}");
        }
        for text in ["ms", "-1ms", "1.5ms", "99999999999999999999ms", "1"] {
            assert!(short_span(text).unwrap_err().contains("500ms"), "{text}");
        }
        for text in ["", "d", "1", "-1d", "1.5d", "1 d", "1D", "1\u{e9}", "\u{e9}"] {
            assert!(span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_days_seconds_or_milliseconds() {
        let cases = [
            ("1700000000123", 1_700_000_000_123),
            ("1970-01-01", 0),
            ("2000-03-01", 951_868_800_000),
            ("2024-02-29", 1_709_164_800_000),
            ("2024-12-31T23:59:59Z", 1_735_689_599_000),
        ];
        for (text, ms) in cases {
            assert_eq!(parse(text), Ok(ms), "{text}");
        }
        let wrong = ["", "2023-02-29", "2024-13-01", "2024-1-1", "2024-01-01T00:00:00", "-5"];
        for text in wrong {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
