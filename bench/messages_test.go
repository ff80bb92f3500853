package bench

import (
	"fmt"
	"strings"
)

// Requests of the server benchmarks, with four and six fields and about 230 bytes. fasthttp's published figures were
// measured with requests of this shape.
var (
	getRequest = message(
		"GET /search?q=gallop HTTP/1.1",
		"Host: example.com",
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64) Gecko Firefox Chrome Opera",
		"Referer: http://example.com/start?page=12",
		"Cookie: id=81f2c0; lang=en; session=hx83kfoq02lfnvbw71mzkqpd",
	)
	postRequest = append(message(
		"POST /search?q=gallop HTTP/1.1",
		"Host: example.com",
		"Content-Type: text/plain",
		fmt.Sprintf("Content-Length: %d", len(answer)),
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64) Gecko Firefox Chrome Opera",
		"Referer: http://example.com/start?page=12",
		"Cookie: id=81f2c0; lang=en; session=hx83kfoq02lfnvbw71mzkqpd",
	), answer...)
)

// Requests by number of fields, such as those sent by curl, by a client in a cluster, and by a browser that follows a
// link.
var (
	request4 = message(
		"GET /api/v1/items/1842?fields=id,name HTTP/1.1",
		"Host: items.internal:8080",
		"User-Agent: items-client/2.11.0",
		"Accept: application/json",
		"X-Request-Id: 0f1e2d3c4b5a69788796a5b4c3d2e1f0",
	)
	request5 = message(
		"POST /upload HTTP/1.1",
		"Host: example.com",
		"User-Agent: curl/8.14.1",
		"Accept: */*",
		"Content-Length: 0",
		"Content-Type: application/x-www-form-urlencoded",
	)
	request20 = message(
		"GET /articles/2026/03/a-day-at-the-races?utm_source=newsletter&utm_medium=email HTTP/1.1",
		"Host: www.example.com",
		"Connection: keep-alive",
		"Cache-Control: max-age=0",
		`sec-ch-ua: "Chromium";v="140", "Not=A?Brand";v="24", "Google Chrome";v="140"`,
		"sec-ch-ua-mobile: ?0",
		`sec-ch-ua-platform: "Linux"`,
		"Upgrade-Insecure-Requests: 1",
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
		"Sec-Fetch-Site: same-origin",
		"Sec-Fetch-Mode: navigate",
		"Sec-Fetch-User: ?1",
		"Sec-Fetch-Dest: document",
		"Referer: https://www.example.com/articles/2026/03/",
		"Accept-Encoding: gzip, deflate, br, zstd",
		"Accept-Language: en-GB,en;q=0.9,de;q=0.8",
		"Cookie: _ga=GA1.2.1234567890.1735689600; session=hx83kfoq02lfnvbw71mzkqpd; theme=dark",
		`If-None-Match: W/"3f80f-1b6-3e1cb03b"`,
		"If-Modified-Since: Mon, 02 Mar 2026 07:28:00 GMT",
		"DNT: 1",
	)
)

// Response heads, such as those of a Go service and of a CDN.
var (
	response5 = message(
		"HTTP/1.1 200 OK",
		"Server: items",
		"Date: Mon, 02 Mar 2026 07:28:00 GMT",
		"Content-Type: application/json; charset=utf-8",
		"Content-Length: 418",
		"X-Request-Id: 0f1e2d3c4b5a69788796a5b4c3d2e1f0",
	)
	response10 = message(
		"HTTP/1.1 200 OK",
		"Server: items",
		"Date: Mon, 02 Mar 2026 07:28:00 GMT",
		"Content-Type: application/json; charset=utf-8",
		"Content-Length: 418",
		"Cache-Control: private, max-age=60",
		`ETag: "3f80f-1b6-3e1cb03b"`,
		"Last-Modified: Sun, 01 Mar 2026 19:04:11 GMT",
		"Vary: Accept-Encoding",
		"X-Content-Type-Options: nosniff",
		"X-Request-Id: 0f1e2d3c4b5a69788796a5b4c3d2e1f0",
	)
	response16 = message(
		"HTTP/1.1 200 OK",
		"Date: Mon, 02 Mar 2026 07:28:00 GMT",
		"Content-Type: text/html; charset=utf-8",
		"Content-Length: 48213",
		"Connection: keep-alive",
		"Cache-Control: public, max-age=300, stale-while-revalidate=60",
		`ETag: "3f80f-1b6-3e1cb03b"`,
		"Last-Modified: Sun, 01 Mar 2026 19:04:11 GMT",
		"Vary: Accept-Encoding",
		"Age: 117",
		"Strict-Transport-Security: max-age=31536000; includeSubDomains",
		"X-Content-Type-Options: nosniff",
		"X-Frame-Options: SAMEORIGIN",
		"Referrer-Policy: strict-origin-when-cross-origin",
		"Set-Cookie: theme=dark; Path=/; Max-Age=31536000; Secure; SameSite=Lax",
		"Via: 1.1 cache-fra-17",
		"X-Cache: HIT",
	)
)

// message joins lines into the head of a message.
func message(lines ...string) []byte {
	return []byte(strings.Join(lines, "\r\n") + "\r\n\r\n")
}
