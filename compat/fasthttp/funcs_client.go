package fasthttp

import (
	"net"
	"time"

	"github.com/gallop-http/gallop"
)

func Do(req *Request, resp *Response) error { return gallop.Do(req, resp) }

func DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	return gallop.DoTimeout(req, resp, timeout)
}

func DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return gallop.DoDeadline(req, resp, deadline)
}

func DoRedirects(req *Request, resp *Response, maxRedirectsCount int) error {
	return gallop.DoRedirects(req, resp, maxRedirectsCount)
}

func Get(dst []byte, url string) (statusCode int, body []byte, err error) {
	return gallop.Get(dst, url)
}

func GetTimeout(dst []byte, url string, timeout time.Duration) (statusCode int, body []byte, err error) {
	return gallop.GetTimeout(dst, url, timeout)
}

func GetDeadline(dst []byte, url string, deadline time.Time) (statusCode int, body []byte, err error) {
	return gallop.GetDeadline(dst, url, deadline)
}

func Post(dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return gallop.Post(dst, url, postArgs)
}

func StatusCodeIsRedirect(statusCode int) bool { return gallop.StatusCodeIsRedirect(statusCode) }

func Dial(addr string) (net.Conn, error) { return gallop.Dial(addr) }

func DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return gallop.DialTimeout(addr, timeout)
}

func DialDualStack(addr string) (net.Conn, error) { return gallop.DialDualStack(addr) }

func DialDualStackTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return gallop.DialDualStackTimeout(addr, timeout)
}

func FlushDNSCache() { gallop.FlushDNSCache() }

func AddMissingPort(addr string, isTLS bool) string { return gallop.AddMissingPort(addr, isTLS) }
