//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// fileSet is a directory of files that the app static serves.
type fileSet struct {
	name  string
	write func(dir string) error
}

// The sets of files. few is in static.go.
var (
	few  = &fileSet{"few", writeStatic}
	tiny = &fileSet{"tiny", writeTiny}
	many = &fileSet{"many", writeMany}
)

// longAgo is the modification time of all files.
var longAgo = time.Unix(1_600_000_000, 0)

// writeFile writes a file that was modified long ago.
func writeFile(name string, content []byte) error {
	if err := os.WriteFile(name, content, 0o644); err != nil {
		return err
	}
	return os.Chtimes(name, longAgo, longAgo)
}

// awaitAge waits until gallop may cache the files: it caches none that was changed just now.
func awaitAge() { time.Sleep(2500 * time.Millisecond) }

// tinyFiles are the sizes of the files of tiny.
var tinyFiles = map[string]int{"empty.txt": 0, "1k.txt": 1 << 10}

func writeTiny(dir string) error {
	defer awaitAge()
	for name, size := range tinyFiles {
		if err := writeFile(filepath.Join(dir, name), filler(name, size)); err != nil {
			return err
		}
	}
	return nil
}

// filler returns the content of a file. It begins with the file's name.
func filler(name string, size int) []byte {
	return append([]byte(name), bytes.Repeat([]byte("."), max(size-len(name), 0))...)[:size]
}

// The files that wrk/zipf.lua requests: manyDirs directories of equal size, all files of the same size.
const (
	manyFiles = 100_000
	manyDirs  = 100
	manySize  = 1 << 10
)

// manyName returns the name of a file of many. Files are numbered by rank: file 0 is requested most often.
func manyName(rank int) string { return fmt.Sprintf("d%02d/f%05d.txt", rank%manyDirs, rank) }

func writeMany(dir string) error {
	defer awaitAge()
	for i := range manyDirs {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("d%02d", i)), 0o755); err != nil {
			return err
		}
	}
	for rank := range manyFiles {
		name := manyName(rank)
		if err := writeFile(filepath.Join(dir, name), filler(name, manySize)); err != nil {
			return err
		}
	}
	return nil
}

// checkTiny returns a check of one of tinyFiles.
func checkTiny(name string) func(url string) error {
	return func(url string) error {
		client, end := keepAlive()
		defer end()
		for range 3 { // a file may be cached
			if err := compareFile(client, url, name, tinyFiles[name]); err != nil {
				return err
			}
		}
		return nil
	}
}

// checkMany compares the most popular files and some of all files.
func checkMany(url string) error {
	client, end := keepAlive()
	defer end()
	for i := range 400 {
		rank := i % 50
		if i >= 100 {
			rank = rand.IntN(manyFiles)
		}
		if err := compareFile(client, url, manyName(rank), manySize); err != nil {
			return err
		}
	}
	return nil
}

// keepAlive returns a client that uses one connection until end is called.
func keepAlive() (client *http.Client, end func()) {
	transport := &http.Transport{DisableCompression: true, MaxConnsPerHost: 1}
	return &http.Client{Transport: transport}, transport.CloseIdleConnections
}

// compareFile requests a file and compares the response with what was written. The connection must stay open.
func compareFile(client *http.Client, url, name string, size int) error {
	response, err := client.Get(url + "/" + name)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || response.ContentLength != int64(size) || response.Close || !bytes.Equal(body, filler(name, size)) {
		return fmt.Errorf("%s: %s, length %d, %d bytes, connection closed: %v", name, response.Status, response.ContentLength, len(body), response.Close)
	}
	return nil
}
