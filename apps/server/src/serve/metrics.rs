//! Request counters and latency histograms, in the text format of Prometheus. Does not know the
//! index.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Upper bounds of the histogram buckets, in seconds.
const BUCKETS: [f64; 13] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0];

/// Labels of a counter: method and route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RouteLabels {
    pub(super) method: &'static str,
    pub(super) path: String,
}

/// The counters of one route.
#[derive(Debug, Default)]
struct Series {
    statuses: BTreeMap<u16, u64>,
    /// One count per bucket, and one for times above the last bound. These counts are not
    /// cumulative.
    buckets: [u64; BUCKETS.len() + 1],
    seconds: f64,
}

/// All request counters.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    routes: Mutex<BTreeMap<RouteLabels, Series>>,
    requests: AtomicU64,
    running: AtomicI64,
}

/// Guard of a running request, which is counted until the guard is dropped.
pub(super) struct Running<'a>(&'a AtomicI64);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    /// Counts a request as running until the guard is dropped.
    pub(super) fn start(&self) -> Running<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(&self.running)
    }

    /// Counts an answered request.
    pub(super) fn count(&self, route: RouteLabels, status: u16, took: Duration) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let seconds = took.as_secs_f64();
        let bucket = BUCKETS.partition_point(|end| *end < seconds);
        let mut routes = self.lock();
        let series = routes.entry(route).or_default();
        *series.statuses.entry(status).or_default() += 1;
        series.buckets[bucket] += 1;
        series.seconds += seconds;
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub(super) fn running(&self) -> i64 {
        self.running.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<RouteLabels, Series>> {
        // If a thread has panicked with the lock held, the counters are still valid.
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints all counters in Prometheus' text format.
    pub(super) fn print(&self, text: &mut MetricsText) {
        let routes = self.lock();
        text.head("nearkin_requests_total", "counter", "Requests answered.");
        for (RouteLabels { method, path }, series) in &*routes {
            for (status, count) in &series.statuses {
                let labels = format!("method=\"{method}\",route=\"{path}\",status=\"{status}\"");
                text.value("nearkin_requests_total", &labels, *count);
            }
        }
        let name = "nearkin_request_seconds";
        text.head(name, "histogram", "Time from a request's head to its answer.");
        for (RouteLabels { method, path }, series) in &*routes {
            let labels = format!("method=\"{method}\",route=\"{path}\"");
            let mut sum = 0;
            for (at, count) in series.buckets.iter().enumerate() {
                sum += count;
                let end = BUCKETS.get(at).map_or("+Inf".to_owned(), f64::to_string);
                text.value(
                    "nearkin_request_seconds_bucket",
                    &format!("{labels},le=\"{end}\""),
                    sum,
                );
            }
            text.value("nearkin_request_seconds_sum", &labels, series.seconds);
            text.value("nearkin_request_seconds_count", &labels, sum);
        }
        drop(routes);
        text.one("nearkin_requests_running", "gauge", "Requests that run.", self.running());
    }
}

/// A buffer for text in Prometheus' format.
#[derive(Debug, Default)]
pub(super) struct MetricsText(String);

impl MetricsText {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a `String` cannot fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn value(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{name}{{{labels}}} {value}");
    }

    /// Prints a metric with a single value.
    pub(super) fn one(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        value: impl std::fmt::Display,
    ) {
        self.head(name, kind, help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulated_and_end_in_the_count() {
        let metrics = Metrics::default();
        let route = || RouteLabels { method: "GET", path: "/a".to_owned() };
        for micros in [100, 101, 20_000_000] {
            metrics.count(route(), 200, Duration::from_micros(micros));
        }
        metrics.count(route(), 404, Duration::from_micros(1));
        let running = metrics.start();
        let mut text = MetricsText::default();
        metrics.print(&mut text);
        drop(running);
        let text = text.into_string();
        for line in [
            "nearkin_requests_total{method=\"GET\",route=\"/a\",status=\"200\"} 3",
            "nearkin_requests_total{method=\"GET\",route=\"/a\",status=\"404\"} 1",
            "nearkin_request_seconds_bucket{method=\"GET\",route=\"/a\",le=\"0.0001\"} 2",
            "nearkin_request_seconds_bucket{method=\"GET\",route=\"/a\",le=\"0.00025\"} 3",
            "nearkin_request_seconds_bucket{method=\"GET\",route=\"/a\",le=\"10\"} 3",
            "nearkin_request_seconds_bucket{method=\"GET\",route=\"/a\",le=\"+Inf\"} 4",
            "nearkin_request_seconds_count{method=\"GET\",route=\"/a\"} 4",
            "nearkin_requests_running 1",
        ] {
            assert!(text.lines().any(|one| one == line), "no {line} in:\n{text}");
        }
        assert_eq!((metrics.requests(), metrics.running()), (4, 0));
    }
}
