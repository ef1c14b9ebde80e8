//! Handlers for the state of the index and the server: as JSON, as Prometheus metrics, and as a
//! health check.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::IntoResponse;
use nearkin::{Error, Stats};
use serde::Serialize;
use serde_json::{Map, Value};
#[cfg(test)]
use utoipa::ToSchema;

use crate::serve::api::error_response::ErrorResponse;
use crate::serve::call::Call;
use crate::serve::followed::Currency;
use crate::serve::metrics::MetricsText;
use crate::serve::shared::Shared;
use nearkin_kit::output::params::ParamsObject;

/// The state of the index and of the server.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Stats))]
pub(crate) struct ServerStatsObject {
    /// What the library says of the index.
    #[cfg_attr(test, schema(ignore))]
    #[serde(flatten)]
    stats: Map<String, Value>,
    /// Parameters of the index, except the seed.
    #[cfg_attr(test, schema(value_type = Object))]
    params: ParamsObject,
    #[cfg_attr(test, schema(inline))]
    server: ServerObject,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
struct ServerObject {
    /// Name of the index folder.
    index: String,
    /// Whether clients may read texts at `/v1/texts/{key}`.
    texts: bool,
    version: &'static str,
    uptime_seconds: u64,
    requests: u64,
    requests_running: i64,
    requests_max: usize,
    body_bytes_max: usize,
    timeout_seconds: u64,
    /// With --read-only: seconds since the server last looked at the index with success.
    #[cfg_attr(test, schema(nullable = false))]
    #[serde(skip_serializing_if = "Option::is_none")]
    state_age_seconds: Option<f64>,
    /// With --read-only: why the state cannot be brought up to date, if it cannot.
    #[cfg_attr(test, schema(nullable = false))]
    #[serde(skip_serializing_if = "Option::is_none")]
    following_failure: Option<String>,
}

pub(crate) fn stats(shared: &Call<'_>, _: &Uri) -> Result<Json<ServerStatsObject>, ErrorResponse> {
    let stats = shared.index.stats()?;
    let mut stats: Map<String, Value> =
        serde_json::to_value(&stats).and_then(serde_json::from_value).map_err(Error::other)?;
    // The error of the last maintenance is left out if there was none.
    stats.retain(|_, value| !value.is_null());
    let currency = shared.index.currency();
    Ok(Json(ServerStatsObject {
        stats,
        params: ParamsObject::new(shared.index.params()),
        server: ServerObject {
            index: shared.title.clone(),
            texts: shared.originals.is_some(),
            version: env!("CARGO_PKG_VERSION"),
            uptime_seconds: shared.began.elapsed().as_secs(),
            requests: shared.metrics.requests(),
            requests_running: shared.metrics.running(),
            requests_max: shared.limits.requests_max,
            body_bytes_max: shared.limits.body_bytes_max,
            timeout_seconds: shared.limits.timeout.as_secs(),
            state_age_seconds: currency.as_ref().map(|currency| currency.age.as_secs_f64()),
            following_failure: currency.and_then(|currency| currency.failure),
        },
    }))
}

/// Whether the server runs, can write, and goes on running.
#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Health))]
pub(crate) struct HealthObject {
    status: Status,
    #[cfg_attr(test, schema(nullable = false))]
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    Poisoned,
    /// With --read-only: the index is gone, replaced or damaged.
    Stale,
    /// The server was told to stop, and still answers for the seconds of --drain.
    Stopping,
}

/// This handler does not touch any file, so that it answers even if the disk is busy.
pub(crate) async fn health(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    // axum requires an async handler; clippy requires an await in it.
    std::future::ready(()).await;
    let is_stale = || shared.index.currency().is_some_and(|currency| currency.is_stale);
    let (status, advice) = if shared.is_poisoned() {
        let advice = "queries work, but writes are refused (a sync failed, or the folder or its \
                      lock file was removed); restart it";
        (Status::Poisoned, Some(advice))
    } else if shared.is_stopping() {
        (Status::Stopping, None)
    } else if is_stale() {
        let advice = "queries are answered from an old state: /v1/stats says why it cannot be \
                      brought up to date";
        (Status::Stale, Some(advice))
    } else {
        (Status::Ok, None)
    };
    let code = match status {
        Status::Ok => StatusCode::OK,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    (code, Json(HealthObject { status, advice }))
}

pub(crate) fn metrics(
    shared: &Call<'_>,
    _: &Uri,
) -> Result<impl IntoResponse + use<>, ErrorResponse> {
    let stats = shared.index.stats()?;
    let mut text = MetricsText::default();
    print(shared, &stats, &mut text);
    if let Some(currency) = shared.index.currency() {
        print_currency(&currency, &mut text);
    }
    shared.metrics.print(&mut text);
    let kind = (header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
    Ok(([kind], text.into_string()))
}

fn print(shared: &Shared, stats: &Stats, text: &mut MetricsText) {
    let gauges = [
        ("nearkin_documents", "Live documents.", stats.documents),
        ("nearkin_documents_dead", "Dead documents that still take space.", stats.dead),
        ("nearkin_segments", "Segments.", stats.segments),
        ("nearkin_memtable_documents", "Documents in the memtable.", stats.memtable_documents),
        ("nearkin_memtable_bytes", "Memory of the memtable.", stats.memtable_bytes),
        ("nearkin_own_bytes", "Memtable and filter over small segments.", stats.own_bytes),
        ("nearkin_mapped_bytes", "Mapped bytes of segments, page cache.", stats.mapped_bytes),
        ("nearkin_disk_bytes", "Bytes of all files of the index.", stats.bytes_on_disk),
        ("nearkin_change", "The last change that queries see.", stats.change),
        ("nearkin_change_durable", "The last change that is durable.", stats.durable_change),
        ("nearkin_change_floor", "The last change that segments hold.", stats.floor),
        ("nearkin_snapshots_pinning", "Older states still held.", stats.snapshots_pinning),
        (
            "nearkin_maintenance_failing",
            "1 if the last maintenance failed.",
            u64::from(stats.maintenance_failure.is_some()),
        ),
        (
            "nearkin_poisoned",
            "1 if a sync failed, and nothing is written any more.",
            u64::from(shared.is_poisoned()),
        ),
        ("nearkin_uptime_seconds", "Since the server started.", shared.began.elapsed().as_secs()),
    ];
    for (name, help, value) in gauges {
        text.one(name, "gauge", help, value);
    }
    for (name, help, value) in [
        ("nearkin_read_bytes_total", "Bytes read, but through maps.", stats.bytes_read),
        ("nearkin_written_bytes_total", "Bytes written.", stats.bytes_written),
        ("nearkin_syncs_total", "Syncs of files and folders.", stats.syncs),
    ] {
        text.one(name, "counter", help, value);
    }
}

/// What only a server has that follows another writer.
fn print_currency(currency: &Currency, text: &mut MetricsText) {
    let (name, help) =
        ("nearkin_state_age_seconds", "Since the index was last looked at with success.");
    text.one(name, "gauge", help, currency.age.as_secs_f64());
    let (name, help) =
        ("nearkin_following_failing", "1 if the state cannot be brought up to date.");
    text.one(name, "gauge", help, u8::from(currency.failure.is_some()));
}
