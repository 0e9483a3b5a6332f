//! The fields of a request.

use ostrakon_events::FieldType;

/// How the value of a field is made.
#[derive(Debug, Clone, Copy)]
pub(super) enum Make {
    /// The time of the request.
    Time,
    /// The start of its bin of ten minutes, in seconds since 1970.
    Bin,
    /// A domain, after Zipf's law.
    Domain,
    /// The [`Share`](super::Share) that the request belongs to.
    Share,
    /// `10.NET.x.y`, of so many hosts.
    Address(u8, u64),
    /// A number below this.
    Number(u64),
    /// A number below this, small ones more often.
    Skewed(u64),
    /// One of these; the first ones more often.
    Choice(&'static [&'static str]),
    /// The text and a number below this.
    Name(&'static str, u64),
    /// So many hexadecimal digits.
    Hex(usize),
}

/// A field: its name, its type, whether it has an index, and how its values are made.
#[derive(Debug, Clone, Copy)]
pub struct RequestField {
    /// The name.
    pub name: &'static str,
    /// The type of its values.
    pub kind: FieldType,
    /// Whether it has an index.
    pub indexed: bool,
    pub(super) make: Make,
}

const fn field(name: &'static str, kind: FieldType, make: Make) -> RequestField {
    RequestField {
        name,
        kind,
        indexed: false,
        make,
    }
}

const fn text(name: &'static str, make: Make) -> RequestField {
    field(name, FieldType::Text, make)
}

const fn number(name: &'static str, make: Make) -> RequestField {
    field(name, FieldType::U64, make)
}

const fn indexed(field: RequestField) -> RequestField {
    RequestField {
        indexed: true,
        ..field
    }
}

use Make::{Address, Choice, Hex, Name, Number, Skewed};

/// The fields, of which the first has the time.
pub const FIELDS: &[RequestField] = &[
    field("event_time", FieldType::Time, Make::Time),
    number("bin", Make::Bin),
    indexed(text("domain_name", Make::Domain)),
    indexed(text("share", Make::Share)),
    indexed(field("source_ip", FieldType::Ip, Address(1, 4096))),
    number("source_port", Number(64_512)),
    indexed(field("destination_ip", FieldType::Ip, Address(2, 16_384))),
    number("destination_port", Choice(&["443", "80", "8080", "8443"])),
    text("method", Choice(&["GET", "POST", "CONNECT", "HEAD", "PUT"])),
    text("scheme", Choice(&["https", "http", "ftp"])),
    text("path", Name("/pages/section/item-", 50_000)),
    text("query", Name("page=", 2000)),
    text(
        "extension",
        Choice(&["html", "js", "css", "png", "jpg", "json", "woff"]),
    ),
    text(
        "http_version",
        Choice(&["HTTP/1.1", "HTTP/1.0", "HTTP/0.9"]),
    ),
    indexed(number(
        "status",
        Choice(&["200", "304", "302", "404", "403", "500", "503"]),
    )),
    number("request_bytes", Skewed(16_384)),
    number("response_bytes", Skewed(4_194_304)),
    number("header_bytes", Skewed(4096)),
    number("duration_ms", Skewed(30_000)),
    number("wait_ms", Skewed(5000)),
    indexed(text(
        "content_type",
        Choice(&[
            "text/html",
            "application/javascript",
            "image/png",
            "image/jpeg",
            "text/css",
            "application/json",
            "application/octet-stream",
        ]),
    )),
    text("content_encoding", Choice(&["gzip", "identity", "deflate"])),
    text("language", Choice(&["en", "de", "fr", "es", "zh", "ja"])),
    text("charset", Choice(&["utf-8", "iso-8859-1", "shift_jis"])),
    text("user_agent", Name("Agent/5.0 (desktop) build ", 300)),
    text("browser", Choice(&["alpha", "beta", "gamma", "delta"])),
    number("browser_version", Skewed(120)),
    text("system", Choice(&["windows", "linux", "macos", "other"])),
    text("device", Choice(&["desktop", "laptop", "phone", "server"])),
    text("referrer", Name("https://start.example/from-", 9000)),
    text("referrer_domain", Name("start-", 900)),
    indexed(text("user_name", Name("user", 3000))),
    text("user_group", Name("group", 40)),
    text("user_realm", Choice(&["staff", "guest", "service"])),
    text("session_id", Hex(16)),
    text("cookie_hash", Hex(8)),
    text("proxy_name", Name("proxy-", 8)),
    field("proxy_ip", FieldType::Ip, Address(3, 8)),
    text("proxy_action", Choice(&["allowed", "cached", "denied"])),
    text("cache_result", Choice(&["miss", "hit", "refresh", "none"])),
    number("cache_age_s", Skewed(86_400)),
    indexed(text("category", Name("category-", 60))),
    number("reputation", Number(100)),
    text("policy", Name("policy-", 25)),
    number("rule_id", Number(700)),
    text("tls_version", Choice(&["1.2", "1.1", "1.0"])),
    text("tls_cipher", Name("cipher-suite-", 20)),
    text("certificate_issuer", Name("issuer-", 80)),
    text("country", Choice(&["us", "de", "fr", "cn", "jp", "gb"])),
    text("region", Name("region-", 50)),
    text("site", Name("site-", 12)),
    text("network_zone", Choice(&["inside", "dmz", "lab", "guest"])),
    text("sensor", Name("sensor-", 6)),
    text("request_id", Hex(24)),
];
