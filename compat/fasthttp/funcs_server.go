package fasthttp

import (
	"net"
	"os"
	"time"

	"github.com/gallop-http/gallop"
)

func ServeConn(c net.Conn, handler RequestHandler) error { return gallop.ServeConn(c, handler) }

func Serve(ln net.Listener, handler RequestHandler) error { return gallop.Serve(ln, handler) }

func ServeTLS(ln net.Listener, certFile, keyFile string, handler RequestHandler) error {
	return gallop.ServeTLS(ln, certFile, keyFile, handler)
}

func ServeTLSEmbed(ln net.Listener, certData, keyData []byte, handler RequestHandler) error {
	return gallop.ServeTLSEmbed(ln, certData, keyData, handler)
}

func ListenAndServe(addr string, handler RequestHandler) error {
	return gallop.ListenAndServe(addr, handler)
}

func ListenAndServeUNIX(addr string, mode os.FileMode, handler RequestHandler) error {
	return gallop.ListenAndServeUNIX(addr, mode, handler)
}

func ListenAndServeTLS(addr, certFile, keyFile string, handler RequestHandler) error {
	return gallop.ListenAndServeTLS(addr, certFile, keyFile, handler)
}

func ListenAndServeTLSEmbed(addr string, certData, keyData []byte, handler RequestHandler) error {
	return gallop.ListenAndServeTLSEmbed(addr, certData, keyData, handler)
}

func TimeoutHandler(h RequestHandler, timeout time.Duration, msg string) RequestHandler {
	return gallop.TimeoutHandler(h, timeout, msg)
}

func TimeoutWithCodeHandler(h RequestHandler, timeout time.Duration, msg string, statusCode int) RequestHandler {
	return gallop.TimeoutWithCodeHandler(h, timeout, msg, statusCode)
}

func CompressHandler(h RequestHandler) RequestHandler { return gallop.CompressHandler(h) }

func CompressHandlerLevel(h RequestHandler, level int) RequestHandler {
	return gallop.CompressHandlerLevel(h, level)
}

func CompressHandlerBrotliLevel(h RequestHandler, brotliLevel, otherLevel int) RequestHandler {
	return gallop.CompressHandlerBrotliLevel(h, brotliLevel, otherLevel)
}

func GenerateTestCertificate(host string) ([]byte, []byte, error) {
	return gallop.GenerateTestCertificate(host)
}

func StatusMessage(statusCode int) string { return gallop.StatusMessage(statusCode) }

func SetBodySizePoolLimit(reqBodyLimit, respBodyLimit int) {
	gallop.SetBodySizePoolLimit(reqBodyLimit, respBodyLimit)
}
