// Package bench compares gallop with its peers in benchmarks. All servers of a family run in one binary, one after
// the other, so that their ratios come from a single run. results/README.md describes how the files in results were made.
package bench

import (
	"net"
	"runtime"
	"testing"
)

// The names and the numbers of requests and clients are those of fasthttp's published figures. One operation is one
// request.

func BenchmarkServerGet1ReqPerConn(b *testing.B)   { benchServer(b, getRequest, few(), 1) }
func BenchmarkServerGet2ReqPerConn(b *testing.B)   { benchServer(b, getRequest, few(), 2) }
func BenchmarkServerGet10ReqPerConn(b *testing.B)  { benchServer(b, getRequest, few(), 10) }
func BenchmarkServerGet10KReqPerConn(b *testing.B) { benchServer(b, getRequest, few(), 10_000) }

func BenchmarkServerGet1ReqPerConn10KClients(b *testing.B) {
	benchServer(b, getRequest, 10_000, 1)
}
func BenchmarkServerGet2ReqPerConn10KClients(b *testing.B) {
	benchServer(b, getRequest, 10_000, 2)
}
func BenchmarkServerGet10ReqPerConn10KClients(b *testing.B) {
	benchServer(b, getRequest, 10_000, 10)
}
func BenchmarkServerGet100ReqPerConn10KClients(b *testing.B) {
	benchServer(b, getRequest, 10_000, 100)
}
func BenchmarkServerGet10KReqPerConn10KClients(b *testing.B) {
	benchServer(b, getRequest, 10_000, 10_000)
}

func BenchmarkServerPost1ReqPerConn(b *testing.B)   { benchServer(b, postRequest, few(), 1) }
func BenchmarkServerPost2ReqPerConn(b *testing.B)   { benchServer(b, postRequest, few(), 2) }
func BenchmarkServerPost10ReqPerConn(b *testing.B)  { benchServer(b, postRequest, few(), 10) }
func BenchmarkServerPost10KReqPerConn(b *testing.B) { benchServer(b, postRequest, few(), 10_000) }

func BenchmarkServerPost1ReqPerConn10KClients(b *testing.B) {
	benchServer(b, postRequest, 10_000, 1)
}
func BenchmarkServerPost2ReqPerConn10KClients(b *testing.B) {
	benchServer(b, postRequest, 10_000, 2)
}
func BenchmarkServerPost10ReqPerConn10KClients(b *testing.B) {
	benchServer(b, postRequest, 10_000, 10)
}
func BenchmarkServerPost10KReqPerConn10KClients(b *testing.B) {
	benchServer(b, postRequest, 10_000, 10_000)
}

// A browser's request with 20 fields, end to end.

func BenchmarkServerGet20Fields1ReqPerConn(b *testing.B) {
	benchServer(b, request20, few(), 1)
}
func BenchmarkServerGet20Fields10KReqPerConn(b *testing.B) {
	benchServer(b, request20, few(), 10_000)
}

// few is the number of clients if a benchmark's name does not give one.
func few() int { return runtime.GOMAXPROCS(0) }

// benchServer makes each peer respond to b.N copies of request. It checks that the handler saw each of them as sent,
// and that all got a response.
func benchServer(b *testing.B, request []byte, clients, perConn int) {
	eachPeer(b, func(b *testing.B, serve func(net.Listener, *work) error) {
		w := &work{post: request[0] == 'P', close: perConn == 1, clients: clients}
		l := newLoad(request, b.N, clients, perConn)
		b.ReportAllocs()
		b.ResetTimer()
		// Serve returns the error that ends the listener. The requests that were served are counted below.
		_ = serve(l, w)
		b.StopTimer()

		if n := w.served.Load(); n != int64(b.N) {
			b.Fatalf("handler ran %d times for %d requests", n, b.N)
		}
		if n := w.wrong.Load(); n != 0 {
			b.Fatalf("%d of %d requests reached the handler with another method or body", n, b.N)
		}
		// A response has a status line, a few fields and the body. The smallest one of all peers has about a hundred
		// bytes.
		if n := l.written.Load(); n < int64(b.N)*100 {
			b.Fatalf("%d bytes written for %d requests", n, b.N)
		}
	})
}
