package messages_test

import (
	"testing"

	"github.com/gallop-http/gallop"
)

func TestContentLengthMeansWhatTheTextSays(t *testing.T) {
	for _, c := range []struct {
		name   string
		build  func(h *gallop.ResponseHeader)
		length int
		fields string
	}{
		{"nothing", func(h *gallop.ResponseHeader) {}, 0, ""},
		{"set", func(h *gallop.ResponseHeader) { h.SetContentLength(5) }, 5, "Content-Length: 5\n"},
		{"zero", func(h *gallop.ResponseHeader) { h.SetContentLength(0) }, 0, "Content-Length: 0\n"},
		{"as a field", func(h *gallop.ResponseHeader) { h.Set("content-length", " 012 ") }, 12, "Content-Length: 12\n"},
		{"chunked", func(h *gallop.ResponseHeader) { h.SetContentLength(-1) }, -1, "Transfer-Encoding: chunked\n"},
		{"chunked as a field", func(h *gallop.ResponseHeader) { h.Add("transfer-encoding", "Chunked") }, -1, "Transfer-Encoding: chunked\n"},
		{"until close", func(h *gallop.ResponseHeader) { h.SetContentLength(-2) }, -2, ""},
		{"the last word counts", func(h *gallop.ResponseHeader) {
			h.SetContentLength(5)
			h.SetContentLength(-1)
			h.SetContentLength(6)
		}, 6, "Content-Length: 6\n"},
		{"until close takes the fields away", func(h *gallop.ResponseHeader) {
			h.SetContentLength(5)
			h.SetContentLength(-2)
		}, -2, ""},
		{"deleted", func(h *gallop.ResponseHeader) { h.SetContentLength(5); h.Del("Content-length") }, 0, ""},
		{"chunked, deleted", func(h *gallop.ResponseHeader) { h.SetContentLength(-1); h.Del("transfer-Encoding") }, 0, ""},
		{"the other one deleted", func(h *gallop.ResponseHeader) {
			h.SetContentLength(-1)
			h.Del("Content-Length")
		}, -1, "Transfer-Encoding: chunked\n"},
		{"refused, so unchanged", func(h *gallop.ResponseHeader) { h.SetContentLength(5); h.Set("Content-Length", "-7") }, 5, "Content-Length: 5\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h gallop.ResponseHeader
			c.build(&h)
			if h.ContentLength() != c.length || lines(&h) != c.fields {
				t.Errorf("%d, %q", h.ContentLength(), lines(&h))
			}
		})
	}
}

func TestARequestIsNeverReadUntilClose(t *testing.T) {
	var h gallop.RequestHeader
	h.SetContentLength(-2)
	if h.ContentLength() != -1 || h.ConnectionClose() {
		t.Errorf("%d", h.ContentLength())
	}
}

func TestConnectionIsAListOfTokens(t *testing.T) {
	for _, c := range []struct {
		name           string
		build          func(h *gallop.RequestHeader)
		close, upgrade bool
		fields         string
	}{
		{"nothing", func(h *gallop.RequestHeader) {}, false, false, ""},
		{"close", func(h *gallop.RequestHeader) { h.SetConnectionClose() }, true, false, "Connection: close\n"},
		{"close as a field", func(h *gallop.RequestHeader) { h.Set("Connection", "CLOSE") }, true, false, "Connection: CLOSE\n"},
		{"in a list", func(h *gallop.RequestHeader) { h.Set("Connection", "a, Close ,b") }, true, false, "Connection: a, Close ,b\n"},
		{"on the second line", func(h *gallop.RequestHeader) {
			h.Add("Connection", "upgrade")
			h.Add("connection", "close")
		}, true, true, "Connection: upgrade\nConnection: close\n"},
		{"part of a token", func(h *gallop.RequestHeader) { h.Set("Connection", "closed, re-upgrade") }, false, false, "Connection: closed, re-upgrade\n"},
		{"a later line takes nothing back", func(h *gallop.RequestHeader) {
			h.Add("Connection", "close")
			h.Add("Connection", "x")
		}, true, false, "Connection: close\nConnection: x\n"},
		{"set again", func(h *gallop.RequestHeader) {
			h.Set("Connection", "close")
			h.Set("Connection", "Upgrade")
		}, false, true, "Connection: Upgrade\n"},
		{"close beside others", func(h *gallop.RequestHeader) {
			h.Add("Connection", "Upgrade, keep-alive")
			h.Add("Connection", "a")
			h.SetConnectionClose()
		}, true, true, "Connection: close, Upgrade, a\n"},
		{"taken back", func(h *gallop.RequestHeader) {
			h.Set("Connection", "close, a")
			h.ResetConnectionClose()
		}, false, false, "Connection: a\n"},
		{"taken back to nothing", func(h *gallop.RequestHeader) {
			h.SetConnectionClose()
			h.ResetConnectionClose()
			h.ResetConnectionClose()
		}, false, false, ""},
		{"deleted", func(h *gallop.RequestHeader) { h.SetConnectionClose(); h.Del("connection") }, false, false, ""},
		{"HTTP/1.0", func(h *gallop.RequestHeader) { h.SetProtocol("HTTP/1.0") }, true, false, ""},
		{"HTTP/1.0 kept alive", func(h *gallop.RequestHeader) {
			h.SetProtocol("HTTP/1.0")
			h.Set("Connection", "Keep-Alive")
		}, false, false, "Connection: Keep-Alive\n"},
		{"upgrade in HTTP/1.0", func(h *gallop.RequestHeader) {
			h.SetProtocol("HTTP/1.0")
			h.Set("Connection", "upgrade")
		}, true, false, "Connection: upgrade\n"},
		{"upgrade in HTTP/1.0 kept alive", func(h *gallop.RequestHeader) {
			h.SetProtocol("HTTP/1.0")
			h.Set("Connection", "upgrade, keep-alive")
		}, false, true, "Connection: upgrade, keep-alive\n"},
		{"HTTP/1.0 taken back", func(h *gallop.RequestHeader) {
			h.SetProtocol("HTTP/1.0")
			h.ResetConnectionClose()
		}, false, false, "Connection: keep-alive\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h gallop.RequestHeader
			c.build(&h)
			if h.ConnectionClose() != c.close || h.ConnectionUpgrade() != c.upgrade || lines(&h) != c.fields {
				t.Errorf("close %v, upgrade %v, %q", h.ConnectionClose(), h.ConnectionUpgrade(), lines(&h))
			}
		})
	}
}
