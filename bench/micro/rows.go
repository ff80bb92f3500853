// Package micro runs Go benchmarks that have variants for gallop and its peers, round by round on one core, and compares them.
//
//	rows.go     the rows: which benchmarks belong together, beside which peers, with which goals
//	run.go      building and running
//	results.go  reading the output of go test
//	table.go    medians, ratios, goals, benchstat's tables
package micro

import "time"

// Row is a set of benchmarks that is run and saved as one.
type Row struct {
	Name, About string
	Dir         string        // of the module; "" means bench
	Pattern     string        // of the benchmarks' names
	Peers       []string      // the first one is the base of ratios and goals
	Goal        float64       // gallop's time is at most Goal times the first peer's; 0 means no goal
	Rounds      int           // default number of rounds
	Time        time.Duration // default time of each benchmark
	Each        int           // number of benchmarks of a round, peers included, for the estimate
	Splits      []Split       // benchstat's tables; empty means one that splits by server
}

// Split is a table of benchstat that has a column for each value of a key in the benchmarks' names.
type Split struct {
	Key    string
	Values []string
}

var (
	fastAndStd = []string{"fasthttp", "nethttp"}
	fasthttp   = []string{"fasthttp"}
)

// Rows are all rows, in the order of bench/README.md. Together they have every benchmark of this module and of its neighbors.
var Rows = []Row{
	{Name: "server", About: "a server that gets requests in memory: few and many requests per connection, GET and POST",
		Pattern: `^BenchmarkServer(Get|Post)(20Fields)?(1|2|10|10K)ReqPerConn$`, Peers: fastAndStd, Rounds: 10, Time: time.Second, Each: 30},
	{Name: "server-10k", About: "the same with 10,000 clients at a time",
		Pattern: `^BenchmarkServer(Get|Post)(1|2|10|10K)ReqPerConn10KClients$`, Peers: fastAndStd, Rounds: 6, Time: time.Second, Each: 24},
	{Name: "server-100", About: "10,000 clients that make 100 requests on each connection",
		Pattern: `^BenchmarkServerGet100ReqPerConn10KClients$`, Peers: fastAndStd, Rounds: 6, Time: time.Second, Each: 3},
	{Name: "server-overtaken", About: "handlers that the server moves off its loop, and handlers that stay",
		Pattern: `^BenchmarkServerOvertaken$`, Rounds: 6, Time: time.Second, Each: 2, Splits: []Split{{"handler", []string{"plain", "overtaken"}}}},
	{Name: "server-compress", About: "a server that compresses JSON documents, and the encoder alone",
		Pattern: `^BenchmarkServerCompressJSON`, Peers: []string{"fasthttp", "encoder"}, Rounds: 6, Time: time.Second, Each: 9},
	{Name: "parse", About: "parsing heads of requests and responses",
		Pattern: `^BenchmarkParse`, Peers: fastAndStd, Rounds: 10, Time: time.Second, Each: 18},
	{Name: "heads", About: "writing heads of responses with ten fields",
		Pattern: `^Benchmark(SetAnd)?WriteResponse10Fields$`, Peers: fastAndStd, Goal: 0.4, Rounds: 6, Time: time.Second, Each: 6},
	{Name: "files", About: "small files by the file handlers, from their caches",
		Pattern: `^BenchmarkFile(Empty|1K|8K)$`, Peers: fasthttp, Goal: 1, Rounds: 6, Time: time.Second, Each: 6},
	{Name: "files-zipf", About: "100,000 files, requested by Zipf's law, with the cache and without it",
		Pattern: `^BenchmarkFilesZipf$`, Peers: []string{"gallop-uncached"}, Goal: 1, Rounds: 6, Time: time.Second, Each: 4},
	{Name: "client-memory", About: "the clients in memory: each with the server of its own project, and each client alone",
		Pattern: `^BenchmarkClient(GetEndToEnd1Inmemory(OwnListener)?|DoFastServer)$`, Peers: fastAndStd, Rounds: 9, Time: 300 * time.Millisecond, Each: 10},
	{Name: "client-callers", About: "10 to 1000 goroutines that call a server in memory",
		Pattern: `^BenchmarkClient(GetEndToEnd(10|100|1000)Inmemory(OwnListener)?|1000CallersOn100Conns)$`, Peers: fastAndStd, Rounds: 6, Time: 300 * time.Millisecond, Each: 23},
	{Name: "client-10k", About: "10,000 goroutines that call a server in memory",
		Pattern: `^BenchmarkClientGetEndToEnd10KInmemory$`, Peers: fastAndStd, Rounds: 6, Time: time.Second, Each: 4},
	{Name: "client-wait", About: "goroutines that wait for a single connection",
		Pattern: `^BenchmarkClientGetEndToEndWaitConn[0-9]+Inmemory$`, Peers: fastAndStd, Rounds: 6, Time: time.Second, Each: 12},
	{Name: "client-tcp1", About: "one goroutine that calls the server in its own process over TCP",
		Pattern: `^BenchmarkClientGetEndToEnd1TCP$`, Peers: fastAndStd, Goal: 1.2, Rounds: 10, Time: time.Second, Each: 4},
	{Name: "client-tcp", About: "10 to 1000 goroutines that call a server over TCP",
		Pattern: `^BenchmarkClient(GetEndToEnd(10|100|1000)|OverBareServer10)TCP$`, Peers: fastAndStd, Rounds: 6, Time: time.Second, Each: 16},
	{Name: "negotiate", About: "content negotiation, under the names of fiber's own benchmarks",
		Pattern: `^Benchmark_(Utils_GetOffer|Ctx_Accepts|Ctx_Format)`, Peers: []string{"fiber"}, Rounds: 6, Time: 200 * time.Millisecond, Each: 38},
	{Name: "router", About: "routers on the 203 routes of GitHub's API", Dir: "router",
		Pattern: `^BenchmarkGitHub$`, Peers: []string{"gin", "echo", "chi", "httprouter", "fiber", "nethttp"}, Rounds: 5, Time: 150 * time.Millisecond, Each: 28},
	{Name: "middleware", About: "middleware of package web/middleware, fiber and echo", Dir: "middleware",
		Pattern: `^Benchmark(Middleware|Library)$`, Peers: []string{"fiber", "echo"}, Goal: 0.7, Rounds: 20, Time: 100 * time.Millisecond, Each: 56},
	{Name: "json-clients", About: "clients for JSON APIs, and JSON packages", Dir: "rest",
		Pattern: `.`, Rounds: 6, Time: 120 * time.Millisecond, Each: 61, Splits: []Split{
			{"client", []string{"go-github", "resty", "fiber", "gallop"}},
			{"codec", []string{"std", "rest", "experiment-v1", "experiment-v2", "segmentio", "sonic", "goccy"}},
		}},
}

// Takes estimates how long so many rounds take. A benchmark runs for about half as long again as its time, because go test first
// looks for the number of operations. The build takes half a minute.
func (r Row) Takes(rounds int, each time.Duration) time.Duration {
	return time.Duration(rounds*r.Each)*each*3/2 + 30*time.Second
}
