package target

import "testing"

func BenchmarkParse(b *testing.B) {
	get, wire := []byte("GET"), []byte("/articles/2026/some-title.html?page=2&sort=date")
	b.SetBytes(int64(len(wire)))
	for b.Loop() {
		Parse(get, wire)
	}
}
