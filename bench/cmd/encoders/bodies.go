//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
)

// body is something to compress.
type body struct {
	name string
	data []byte
}

// bodies returns JSON of three sizes, pages and scripts of the Go distribution, and data that is compressed already.
func bodies() []body {
	page := distributed("doc/go_spec.html")
	return []body{
		{"json-1K", items(1 << 10)},
		{"json-8K", items(8 << 10)},
		{"json-100K", items(100 << 10)},
		{"html-37K", distributed("doc/asm.html")},
		{"html-293K", page},
		{"js-17K", distributed("lib/wasm/wasm_exec.js")},
		{"minjs-118K", distributed("src/internal/trace/traceviewer/static/webcomponents.min.js")},
		{"gzip-64K", gzipped(page, distributed("src/internal/trace/traceviewer/static/trace_viewer_full.html"))[:64<<10]},
	}
}

// distributed returns a file of the Go distribution.
func distributed(name string) []byte {
	data, err := os.ReadFile(filepath.Join(runtime.GOROOT(), filepath.FromSlash(name)))
	if err != nil {
		log.Fatal(err)
	}
	return data
}

func gzipped(parts ...[]byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for _, p := range parts {
		w.Write(p)
	}
	w.Close()
	return b.Bytes()
}

// item is an element of a list, as an API returns it.
type item struct {
	ID       int      `json:"id"`
	Name     string   `json:"name"`
	Category string   `json:"category"`
	Price    float64  `json:"price"`
	Quantity int      `json:"quantity"`
	Active   bool     `json:"active"`
	Tags     []string `json:"tags"`
	Rating   struct {
		Score float64 `json:"score"`
		Count int     `json:"count"`
	} `json:"rating"`
}

// items returns a list of about this size as JSON. It is the same on each call.
func items(size int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"Alpha", "Bravo", "Nova", "Prime", "Ultra", "Micro", "Hyper", "Delta", "Vertex", "Quartz"}
	kinds := []string{"Widget", "Sensor", "Module", "Adapter", "Bracket", "Valve", "Gasket"}
	groups := []string{"electronics", "tools", "garden", "toys", "books"}
	var list []json.RawMessage
	for total := 0; total < size-160; {
		var i item
		i.ID = len(list) + 1
		i.Name = fmt.Sprintf("%s %s %d", words[random.IntN(len(words))], kinds[random.IntN(len(kinds))], random.IntN(900)+100)
		i.Category = groups[random.IntN(len(groups))]
		i.Price = float64(random.IntN(50000)) / 100
		i.Quantity = random.IntN(1000)
		i.Active = random.IntN(3) > 0
		i.Tags = []string{"fast", "new", "sale", "eco"}[:1+random.IntN(4)]
		i.Rating.Score = float64(random.IntN(50)) / 10
		i.Rating.Count = random.IntN(2000)
		text, _ := json.Marshal(i)
		list = append(list, text)
		total += len(text) + 1
	}
	text, _ := json.Marshal(map[string]any{"count": len(list), "items": list})
	return text
}

// versions returns the versions of the libraries.
func versions() (all []string) {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if slices.Contains([]string{"github.com/andybalholm/brotli", "github.com/molecule-man/go-brrr", "github.com/klauspost/compress"}, m.Path) {
			all = append(all, m.Path+" "+m.Version)
		}
	}
	return all
}
