//! Middleware for every request: access checks, time limit, metrics and security headers.
//!
//! Scripts of foreign sites run in the browser on this machine and can reach loopback addresses.
//! Therefore the `Host` header must name a loopback address, because a foreign DNS name can be made
//! to point here (DNS rebinding). Cross-site requests are refused as well, except for the page `/`,
//! which contains no documents, and those of allowed origins. Only these get CORS
//! headers, so that other scripts could not read the answer.

use std::sync::Arc;
use std::time::Instant;

use axum::body::HttpBody as _;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::access;
use super::access_log::{self, Logged};
use super::listener::Peer;
use super::request_id;
use crate::serve::api::error_response::ErrorResponse;
use crate::serve::metrics::RouteLabels;
use crate::serve::shared::Shared;

/// Checks a request, processes it within the time limit, and counts it.
pub(crate) async fn guard(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let running = shared.metrics.start();
    let path = request.extensions().get::<MatchedPath>();
    let path = path.map_or_else(|| "other".to_owned(), |path| described(path.as_str()));
    let route = RouteLabels { method: method_name(request.method()), path };
    let id = request_id::read_or_create(request.headers());
    let head = shared.log.as_ref().map(|_| {
        let peer = peer(&request).and_then(|peer| peer.address);
        (peer, request.method().clone(), request.uri().clone())
    });
    if let Some(peer) = peer(&request) {
        // A handler that reads a body says so.
        peer.arrival.await_answer();
    }
    let origin = shared.access.allowed_origin(request.headers());
    let is_preflight =
        origin.is_some() && access::is_preflight(request.method(), request.headers());
    let mut response = match check(&shared, &request, &route.path, origin.is_some()) {
        Err(refused) => refused.into_response(),
        Ok(()) if is_preflight => access::preflight(),
        Ok(()) => match tokio::time::timeout(shared.limits.timeout, next.run(request)).await {
            Ok(response) => response,
            Err(_) => too_late(&shared).into_response(),
        },
    };
    drop(running);
    let took = began.elapsed();
    shared.metrics.count(route, response.status().as_u16(), took);
    if let (Some(log), Some((peer, method, uri))) = (&shared.log, head) {
        log.log(Logged {
            time: access_log::now(),
            peer,
            method: method.as_str(),
            path: uri.path_and_query().map_or("-", PathAndQuery::as_str),
            status: response.status().as_u16(),
            ms: (took.as_secs_f64() * 10_000.0).round() / 10.0,
            bytes: response.body().size_hint().exact(),
            id: &id,
        });
    }
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.insert(request_id::HEADER, request_id::header(&id));
    if let Some(origin) = origin {
        access::allow(origin, headers);
    }
    response
}

/// The client that sent a request.
pub(crate) fn peer(request: &Request) -> Option<&Peer> {
    request.extensions().get::<ConnectInfo<Peer>>().map(|info| &info.0)
}

/// A path of the router as the documentation writes it, and counters name it.
pub(crate) fn described(path: &str) -> String {
    path.replace("{*", "{")
}

fn too_late(shared: &Shared) -> ErrorResponse {
    let seconds = shared.limits.timeout.as_secs();
    ErrorResponse::new("timeout", format!("the request took longer than {seconds} s"))
        .advise("a write may still complete; repeating it is safe")
}

/// The name of the method, for metrics. Unknown methods share one name, so that clients cannot
/// create any number of counters.
fn method_name(method: &Method) -> &'static str {
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS]
        .iter()
        .zip(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
        .find_map(|(known, name)| (known == method).then_some(name))
        .unwrap_or("other")
}

fn check(
    shared: &Shared,
    request: &Request,
    path: &str,
    is_allowed_origin: bool,
) -> Result<(), ErrorResponse> {
    let headers = request.headers();
    let host = host(headers, request.uri());
    // Health checks of proxies and containers may name no host. Browsers always do.
    let is_plain_check = path == "/health" && names_no_host(headers, request.uri());
    if shared.access.loopback && !is_plain_check && !host.is_some_and(is_loopback_name) {
        return Err(ErrorResponse::new(
            "host",
            "the Host header is not a loopback address, and this server is local",
        )
        .advise("use 127.0.0.1, [::1] or localhost"));
    }
    let is_page = request.method() == Method::GET && path == "/";
    if !is_allowed_origin && !is_page && is_of_another_site(headers, host) {
        let message = "cross-site requests are refused";
        let advice = "behind a proxy, start the server with --allow-origin and the page's address";
        return Err(ErrorResponse::new("origin", message).advise(advice));
    }
    // A health check needs no token. A preflight request has none: browsers do not send it there.
    if path == "/health" || is_allowed_origin && access::is_preflight(request.method(), headers) {
        return Ok(());
    }
    shared.access.check_token(headers, request.method(), path)
}

fn names_no_host(headers: &HeaderMap, uri: &Uri) -> bool {
    !headers.contains_key(header::HOST) && uri.authority().is_none()
}

/// The host and port that the request names.
fn host<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    let mut given = headers.get_all(header::HOST).iter();
    match (given.next(), given.next()) {
        (Some(host), None) => host.to_str().ok(),
        // A request with two hosts is ambiguous.
        (Some(_), Some(_)) => None,
        (None, _) => uri.authority().map(axum::http::uri::Authority::as_str),
    }
}

/// Whether a host, with or without a port, can only be this machine.
fn is_loopback_name(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) if name.contains(':') => (name, port),
            _ => return false,
        },
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    // Anything other than a port after the name makes it a different name.
    let digits = port.strip_prefix(':').unwrap_or(port);
    if !digits.bytes().all(|byte| byte.is_ascii_digit())
        || digits.len() == port.len() && !port.is_empty()
    {
        return false;
    }
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether the request was sent by a page of another site, according to the browser's headers.
fn is_of_another_site(headers: &HeaderMap, host: Option<&str>) -> bool {
    let is_own_site = |site: &str| site == "same-origin" || site == "none";
    let is_own_origin = |origin: &str| {
        let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        name.is_some() && name == host
    };
    !is_missing_or(headers, "sec-fetch-site", is_own_site)
        || !is_missing_or(headers, "origin", is_own_origin)
}

/// Whether the header `name` is missing, or is given exactly once with a value that `is_right`
/// accepts. Two values are refused: browsers never send two, and other software might use the
/// second one.
fn is_missing_or(headers: &HeaderMap, name: &str, is_right: impl Fn(&str) -> bool) -> bool {
    let mut given = headers.get_all(name).iter();
    match (given.next(), given.next()) {
        (None, _) => true,
        (Some(value), None) => value.to_str().is_ok_and(is_right),
        (Some(_), Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_loopback() {
        for good in ["localhost", "LOCALHOST:80", "127.0.0.1:7878", "127.9.9.9", "[::1]:1", "[::1]"]
        {
            assert!(is_loopback_name(good), "{good}");
        }
        for bad in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "evil.example:127.0.0.1",
            "0.0.0.0",
            "192.168.0.1",
            "[::2]",
            "",
            "::1",
            "2130706433",
            "[::1].evil.example",
            "[::1]evil.example:80",
            "[::1",
            "[127.0.0.1]",
            "localhost:80@evil.example",
            "localhost:80:80",
        ] {
            assert!(!is_loopback_name(bad), "{bad}");
        }
    }

    #[test]
    fn pages_of_other_sites_are_known_by_their_headers() {
        let is = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            is_of_another_site(&headers, Some("127.0.0.1:7878"))
        };
        for other in ["cross-site", "same-site"] {
            assert!(is("sec-fetch-site", other), "{other}");
        }
        assert!(!is("sec-fetch-site", "same-origin") && !is("sec-fetch-site", "none"));
        for other in ["http://evil.example", "null", "http://127.0.0.1:80", "127.0.0.1:7878"] {
            assert!(is("origin", other), "{other}");
        }
        assert!(!is("origin", "http://127.0.0.1:7878"));
        // Repeated headers are refused, whatever their values are.
        let (site, origin) = ("sec-fetch-site", "origin");
        for (name, first, second) in [
            (site, "same-origin", "cross-site"),
            (site, "none", "none"),
            (origin, "http://127.0.0.1:7878", "http://evil.example"),
            (origin, "http://127.0.0.1:7878", "http://127.0.0.1:7878"),
        ] {
            let mut headers = HeaderMap::new();
            headers.append(name, first.parse().unwrap());
            headers.append(name, second.parse().unwrap());
            assert!(is_of_another_site(&headers, Some("127.0.0.1:7878")), "{first}, {second}");
        }
        assert!(!is_of_another_site(&HeaderMap::new(), None));
    }
}
