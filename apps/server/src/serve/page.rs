//! Handlers of the pages `/`, `/status`, `/api` and `/report`.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use axum::http::{HeaderName, Uri, header};
use axum::response::IntoResponse;

use super::api::error_response::ErrorResponse;
use super::call::Call;

use crate::report_page;
use crate::report_page::links::Links;
use crate::report_page::settings::PageSettings;
use crate::web;

const OWN_STYLE: &str = include_str!("page/page.css");
const PAGE: &str = include_str!("page/page.html");
const STATUS: &str = include_str!("page/status.html");
const API: &str = include_str!("page/api.html");

/// Maximum number of clusters of the report (the largest ones). It then has one or two megabytes.
const CLUSTERS_MAX: usize = 1_000;

const ASK: &str = include_str!("page/ask.js");

fn page_script() -> String {
    let parts = [&[web::BASE, ASK][..], &web::TEXTS, &[include_str!("page/page.js")]];
    web::script(&parts.concat())
}

fn status_script() -> String {
    web::script(&[web::BASE, ASK, include_str!("page/status.js")])
}

fn api_script() -> String {
    web::script(&[web::BASE, include_str!("page/api.js")])
}

pub(super) async fn page() -> impl IntoResponse {
    // axum requires an async handler; clippy requires an await in it.
    std::future::ready(()).await;
    filled(PAGE, &page_script())
}

pub(super) async fn status() -> impl IntoResponse {
    // axum requires an async handler; clippy requires an await in it.
    std::future::ready(()).await;
    filled(STATUS, &status_script())
}

pub(super) async fn api() -> impl IntoResponse {
    // axum requires an async handler; clippy requires an await in it.
    std::future::ready(()).await;
    filled(API, &api_script())
}

/// The report about the whole index, as a page with a content security policy of its own. It
/// includes texts only if clients may read them.
pub(super) fn report(call: &Call<'_>, _: &Uri) -> Result<impl IntoResponse + use<>, ErrorResponse> {
    let snapshot = call.index.snapshot();
    let settings = PageSettings {
        title: call.title.clone(),
        threshold: snapshot.params().threshold(),
        clusters_max: CLUSTERS_MAX,
        made: report_page::now_ms(),
        texts: true,
        reads_all: false,
        links: Links::none(),
        stop: Arc::new(call.is_abandoned()),
    };
    let made = report_page::make(&snapshot, &settings, call.originals.as_ref());
    let made = made.map_err(|failure| {
        ErrorResponse::new("internal", failure.to_string().replacen("error: ", "", 1))
            .advise("`nearkin verify INDEX` lists damage, if there is any")
    })?;
    Ok((html("frame-ancestors 'none'".to_owned()), made.html))
}

/// The headers of a page with this content security policy.
fn html(policy: String) -> [(HeaderName, String); 2] {
    [
        (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (header::CONTENT_SECURITY_POLICY, policy),
    ]
}

/// Fills in a page and its content security policy. Only the page's own script and style are
/// allowed, by a random nonce.
fn filled(template: &str, script: &str) -> impl IntoResponse + use<> {
    let nonce = format!("{:016x}{:016x}", random(), random());
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    let page = template.replace("@NONCE@", &nonce);
    let style = [web::STYLE, OWN_STYLE].concat();
    (html(policy), page.replace("@STYLE@", &style).replace("@SCRIPT@", script))
}

/// Returns 64 random bits: the keys of the standard hasher come from the system's random generator.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_have_each_place_and_nothing_is_loaded() {
        for template in [PAGE, STATUS, API] {
            assert_eq!(template.matches("@STYLE@").count(), 1);
            assert_eq!(template.matches("@SCRIPT@").count(), 1);
            assert_eq!(template.matches("nonce=\"@NONCE@\"").count(), 2);
        }
        let scripts = [page_script(), status_script(), api_script()];
        for text in
            [PAGE, STATUS, API, web::STYLE, OWN_STYLE, &scripts[0], &scripts[1], &scripts[2]]
        {
            assert!(text.is_ascii() && !text.contains("http://") && !text.contains("https://"));
        }
        for script in scripts {
            assert!(!script.contains("innerHTML") && !script.contains("</"));
            assert!(!script.contains("@STYLE@") && !script.contains("@SCRIPT@"));
        }
    }
}
