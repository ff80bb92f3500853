package handlers_test

import (
	"crypto/sha256"
	"os"
	"sync"
	"time"
)

// fingerprint identifies a content. The zero value means that there was no file.
type fingerprint [sha256.Size]byte

// version is a content that was on the disk during a time. The time begins before the change that made the content, and
// ends after the change that replaced it.
type version struct {
	is       fingerprint
	from, to time.Time
}

// history is what was on the disk.
type history struct {
	mu        sync.Mutex
	files     map[string][]version // by the suffix of a file; the original has none
	rewriting []version            // the times in which files were written in place
}

// change makes a change after which the file with this suffix has the content body. An empty body stands for no file.
func (h *history) change(suffix, body string, f func() error) error {
	var is fingerprint
	if body != "" {
		is = sha256.Sum256([]byte(body))
	}
	h.mu.Lock()
	now := time.Now()
	h.files[suffix] = append(h.files[suffix], version{is, now, now.Add(time.Hour)})
	n := len(h.files[suffix])
	h.mu.Unlock()
	err := f()
	h.mu.Lock()
	defer h.mu.Unlock()
	if n > 1 {
		h.files[suffix][n-2].to = time.Now()
	}
	return err
}

// rewrite writes a file in place, in two parts. Between them the file has a content that counts as a version.
func (h *history) rewrite(name, before, body string) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	half := len(body) / 2
	part := func(at int, b, whole string) error {
		h.mu.Lock()
		h.rewriting = append(h.rewriting, version{from: time.Now(), to: time.Now().Add(time.Hour)})
		n := len(h.rewriting) - 1
		h.mu.Unlock()
		err := h.change("", whole, func() error { _, err := f.WriteAt([]byte(b), int64(at)); return err })
		h.mu.Lock()
		h.rewriting[n].to = time.Now()
		h.mu.Unlock()
		return err
	}
	if before == "" {
		return part(0, body, body)
	}
	if err := part(0, body[:half], body[:half]+before[half:]); err != nil {
		return err
	}
	time.Sleep(youth + 50*time.Millisecond)
	return part(half, body[half:], body)
}

// allows reports whether a file with one of the suffixes had this content while a request was in flight, or at most for
// the window before. A request during a write in place may get parts of two versions.
func (h *history) allows(is fingerprint, began, ended time.Time, window time.Duration, suffixes ...string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, v := range h.rewriting {
		if v.from.Before(ended) && v.to.After(began) {
			return true
		}
	}
	for _, suffix := range suffixes {
		for _, v := range h.files[suffix] {
			if v.is == is && v.from.Before(ended) && v.to.After(began.Add(-window)) {
				return true
			}
		}
	}
	return false
}

// last returns the content that is on the disk now.
func (h *history) last(suffix string) fingerprint {
	h.mu.Lock()
	defer h.mu.Unlock()
	if all := h.files[suffix]; len(all) > 0 {
		return all[len(all)-1].is
	}
	return fingerprint{}
}
