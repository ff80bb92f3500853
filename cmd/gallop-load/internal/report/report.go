// Package report writes results for people and programs.
//
//	text.go, text_*.go   the summary in a terminal: the summary of k6, then what k6 does not show
//	json.go              result files
//	csv.go               the time line and the requests as tables
//	bench.go             lines in the format of Go benchmarks, for benchstat
//	html.go, html_*.go   a page with charts
//	svg*.go              the charts
//	omission.go          what closed loops do not count
//	totals.go            sums that several forms show
package report
