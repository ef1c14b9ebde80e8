//! Work on the index for a request: on a thread that may block, and only while its answer is
//! wanted. Brief work runs on the thread of its connection: a hand-over costs more than the work.

use std::cell::Cell;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::api::bodies::Body;
use super::api::error_response::ErrorResponse;
use super::shared::Shared;

/// Maximum size of a body whose work may be brief: making the signature of such a text takes some
/// microseconds.
const BRIEF_BYTES_MAX: usize = 16 << 10;

/// Maximum number of candidates of a brief query.
const BRIEF_CANDIDATES_MAX: usize = 1_024;

/// The shared state as one request sees it.
pub(super) struct Call<'a> {
    shared: &'a Shared,
    abandoned: Arc<AtomicBool>,
    /// When the work is abandoned at the latest, if no other thread sees to it.
    until: Option<Instant>,
    /// Whether the work is given up unless it is brief.
    brief: bool,
    given_up: Cell<bool>,
}

impl Deref for Call<'_> {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        self.shared
    }
}

impl<'a> Call<'a> {
    fn new(shared: &'a Shared, abandoned: Arc<AtomicBool>) -> Self {
        Self { shared, abandoned, until: None, brief: false, given_up: Cell::new(false) }
    }

    /// The maximum number of candidates of a query, if the work is given up unless it is brief.
    pub(crate) fn brief_candidates_max(&self) -> Option<usize> {
        self.brief.then_some(BRIEF_CANDIDATES_MAX)
    }

    /// Gives the work up if it was to be brief: `is_long` says that it is not. Then it runs again,
    /// on a thread that may block.
    pub(crate) fn give_up_if(&self, is_long: bool) -> Result<(), ErrorResponse> {
        if !(self.brief && is_long) {
            return Ok(());
        }
        self.given_up.set(true);
        // This response goes nowhere.
        Err(ErrorResponse::new("busy", "the work is not brief"))
    }

    /// A call that is given up when its time is over, and not before.
    pub(super) fn awaited(shared: &'a Shared) -> Self {
        let until = Instant::now().checked_add(shared.limits.timeout);
        Self { until, ..Self::new(shared, Arc::default()) }
    }

    /// A flag that becomes true when nobody waits for the answer any more: the time of the request
    /// is over, or its client has disconnected.
    pub(crate) fn is_abandoned(&self) -> impl Fn() -> bool + Send + Sync + Clone + 'static {
        let (abandoned, until) = (Arc::clone(&self.abandoned), self.until);
        move || {
            abandoned.load(Ordering::Relaxed) || until.is_some_and(|until| Instant::now() >= until)
        }
    }

    /// Fails if nobody waits for the answer any more. Long work calls this between its steps, but
    /// never in the middle of a write.
    pub(crate) fn check(&self) -> Result<(), ErrorResponse> {
        if self.is_abandoned()() {
            // Over HTTP the response of the time limit has been sent already.
            return Err(ErrorResponse::new("timeout", "the time of the request is over"));
        }
        Ok(())
    }
}

/// Abandons a call when dropped: when its answer is there, or the request was given up.
struct Abandon(Arc<AtomicBool>);

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs work on the index on a blocking thread, because the library reads and syncs files.
///
/// A call counts towards the limit of calls until its work is done. If its time is over or its
/// client has disconnected, the work ends at its next step, or does not start.
pub(super) async fn work<T: Send + 'static>(
    shared: Arc<Shared>,
    work: impl FnOnce(&Call<'_>) -> Result<T, ErrorResponse> + Send + 'static,
) -> Result<T, ErrorResponse> {
    let place = shared.place()?;
    let abandoned = Arc::<AtomicBool>::default();
    // Dropped with this future, which nothing polls any more once the request is given up.
    let _abandon = Abandon(Arc::clone(&abandoned));
    let worked = tokio::task::spawn_blocking(move || {
        let call = Call::new(&shared, abandoned);
        let done = call.check().and_then(|()| work(&call));
        if done.as_ref().is_err_and(ErrorResponse::is_poison) {
            shared.poison();
        }
        // Drop this handle before `place`: once all places are free, no thread uses the index any
        // more.
        drop(shared);
        drop(place);
        done
    });
    worked.await.unwrap_or_else(|_| Err(panicked()))
}

fn panicked() -> ErrorResponse {
    ErrorResponse::new("internal", "the request failed inside the server")
        .advise("see the server's stderr")
}

/// Reads from the index at once if that is brief, or else as [`work`] does.
pub(super) async fn brief_or_long<T: Send + 'static>(
    shared: Arc<Shared>,
    body: Body,
    read: fn(&Call<'_>, &Body) -> Result<T, ErrorResponse>,
) -> Result<T, ErrorResponse> {
    if body.len() <= BRIEF_BYTES_MAX
        && let Some(_running) = shared.hand_over.begin()
    {
        let call = Call { brief: true, ..Call::new(&shared, Arc::default()) };
        let began = Instant::now();
        // This is unwind safe: the library checks its own state after a panic.
        let done = catch_unwind(AssertUnwindSafe(|| read(&call, &body)));
        shared.hand_over.note(began.elapsed());
        if !call.given_up.get() {
            return done.unwrap_or_else(|_| Err(panicked()));
        }
    }
    work(shared, move |call| read(call, &body)).await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;
    use nearkin::{Batch, Index, Options, Params};
    use serde_json::{Value, json};

    use super::*;
    use crate::args::serve::Serve;
    use crate::serve::api::bodies::Body;
    use crate::serve::handlers::{admit, documents, search};
    use crate::serve::http::access::Access;
    use crate::serve::http::bind::Reach;
    use crate::serve::page;
    use crate::serve::refreshed::Refreshed;
    use crate::serve::served::Served;
    use crate::serve::shared::Limits;

    #[derive(Debug, Parser)]
    struct Tool {
        #[command(flatten)]
        serve: Serve,
    }

    /// A server over an index of a hundred equal documents, and one other.
    fn shared() -> Arc<Shared> {
        let params = Params::for_threshold(0.5).build().unwrap();
        let index = Index::temporary(&params, Options::default()).unwrap();
        let text = index.sketcher().text("the quick brown fox jumps over the lazy dog").unwrap();
        for key in 0..100 {
            index.insert(format!("fox{key}"), &text).unwrap();
        }
        let args = Tool::parse_from(["serve", "i"]).serve;
        let timeout = Duration::from_secs(60);
        let limits = Limits { body_bytes_max: 1 << 20, requests_max: 4, timeout };
        let access = Access::new(&args, Reach::Loopback).unwrap();
        let served = Served::Writable(Refreshed::new(index).unwrap());
        Arc::new(Shared::new(served, "i".to_owned(), limits, access))
    }

    /// What a handler answers, or the kind of its error.
    fn said<T>(answer: Result<T, ErrorResponse>) -> &'static str {
        answer.map_or_else(|refused| refused.kind(), |_| "answered")
    }

    #[test]
    fn work_that_nobody_waits_for_stops_at_its_next_step() {
        let shared = shared();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let endless = |call: &Call<'_>| -> Result<(), ErrorResponse> {
            loop {
                call.check()?;
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let given_up = runtime.block_on(async {
            tokio::time::timeout(Duration::from_millis(20), work(Arc::clone(&shared), endless))
                .await
        });
        assert!(given_up.is_err());
        // Ends if the work does; otherwise the runner's own limit ends the test.
        while shared.is_working() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_query_that_may_return_much_is_not_brief() {
        let shared = shared();
        let mut limits = Vec::new();
        let fox = "The quick brown fox jumps over a lazy dog";
        for query in [
            json!({"text": fox, "limit": 100}),
            json!({"text": fox, "limit": 101}),
            json!({"text": fox, "limit": 101, "max_candidates": 9}),
        ] {
            let call = Call { brief: true, ..Call::new(&shared, Arc::default()) };
            let body = Body::of_bytes(query.to_string(), &shared).ok().unwrap();
            let answered = said(search::query(&call, &body));
            limits.push((answered, call.given_up.get()));
        }
        assert_eq!(limits, [("answered", false), ("busy", true), ("busy", true)]);
    }

    /// 1,000 matches may have a payload of 64 KiB each; twice as many are refused.
    #[test]
    fn payloads_of_all_texts_of_a_request_are_bounded() {
        let shared = shared();
        let fox = "the quick brown fox jumps over the lazy dog";
        let (text, payload) = (shared.sketcher.text(fox).unwrap(), vec![7; 64 << 10]);
        let insert =
            |batch: Batch, key| batch.insert_with_payload(format!("fox{key}"), &text, &payload);
        shared.index.write((0..100).fold(Batch::new(), insert)).unwrap();
        let ask = |texts: usize, payloads| {
            let query = json!({"texts": vec![fox; texts], "limit": 100, "payloads": payloads});
            let body = Body::of_bytes(query.to_string(), &shared).ok().unwrap();
            said(search::query(&Call::new(&shared, Arc::default()), &body))
        };
        assert_eq!(
            [ask(10, true), ask(20, true), ask(20, false)],
            ["answered", "too_large", "answered"]
        );
    }

    #[test]
    fn an_abandoned_request_is_neither_searched_nor_written_to_its_end() {
        let shared = shared();
        let abandoned = Arc::new(AtomicBool::new(false));
        let call = Call::new(&shared, Arc::clone(&abandoned));
        let uri = "/v1/documents/new".parse().unwrap();
        let fox = "The quick brown fox jumps over a lazy dog";
        let ask = |answered: &str| {
            let body = |body: Value| Body::of_bytes(body.to_string(), &shared).ok().unwrap();
            for query in [
                json!({"text": fox}),
                json!({"texts": [fox, fox]}),
                json!({"key": "fox1"}),
                json!({"keys": ["fox1", "fox2"]}),
            ] {
                assert_eq!(said(search::query(&call, &body(query.clone()))), answered, "{query}");
            }
            let batch = json!({"operations": [{"insert": {"key": "new", "text": "another text"}}]});
            assert_eq!(said(documents::batch(&call, &body(batch))), answered);
            let newcomer = json!({"key": "newcomer", "text": "a text of its own"});
            assert_eq!(said(admit::admit(&call, &body(newcomer))), answered);
            let report = said(page::report(&call, &uri));
            assert_eq!(report == "answered", answered == "answered", "{report}");
        };
        abandoned.store(true, Ordering::Relaxed);
        ask("timeout");
        assert_eq!(shared.index.snapshot().len(), 100);
        abandoned.store(false, Ordering::Relaxed);
        ask("answered");
        assert_eq!(shared.index.snapshot().len(), 102);
    }
}
