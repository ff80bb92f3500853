// Package data provides the values that benchmarks encode and decode: issues in the form in which code hosts list
// them.
package data

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

type (
	// User is the author or assignee of an issue.
	User struct {
		Login     string `json:"login"`
		ID        int64  `json:"id"`
		AvatarURL string `json:"avatar_url"`
		HTMLURL   string `json:"html_url"`
		Type      string `json:"type"`
		SiteAdmin bool   `json:"site_admin"`
	}
	// Label is a label of an issue.
	Label struct {
		ID          int64   `json:"id"`
		Name        string  `json:"name"`
		Color       string  `json:"color"`
		Description *string `json:"description"`
	}
	// Issue is one issue of a list.
	Issue struct {
		ID        int64      `json:"id"`
		Number    int        `json:"number"`
		Title     string     `json:"title"`
		State     string     `json:"state"`
		Body      string     `json:"body"`
		User      *User      `json:"user"`
		Labels    []Label    `json:"labels"`
		Comments  int        `json:"comments"`
		CreatedAt time.Time  `json:"created_at"`
		ClosedAt  *time.Time `json:"closed_at"`
		URL       string     `json:"html_url"`
	}
)

func issueOf(i int) Issue {
	n := strconv.Itoa(i)
	about := "Something isn't working"
	return Issue{
		ID: 1_000_000 + int64(i), Number: i, Title: "Issue " + n + " says that \"this\" fails <often>", State: "open",
		Body:     strings.Repeat("It happens when the answer is late, and the caller has gone.\n", 6),
		User:     &User{"gopher" + n, int64(i), "https://avatars.example.com/u/" + n + "?v=4", "https://example.com/gopher" + n, "User", false},
		Labels:   []Label{{1, "bug", "d73a4a", &about}, {2, "help wanted", "008672", nil}},
		Comments: i % 7, CreatedAt: time.Date(2026, 1, 2, 3, 4, i%60, 0, time.UTC), URL: "https://example.com/gopher/holes/issues/" + n,
	}
}

// IssuesOf returns issues whose JSON has about size bytes.
func IssuesOf(size int) (list []Issue) {
	for total := 0; total < size; {
		one := issueOf(len(list))
		text, _ := json.Marshal(one)
		total += len(text)
		list = append(list, one)
	}
	return list
}

// JSON returns IssuesOf(size) encoded as JSON.
func JSON(size int) []byte {
	text, err := json.Marshal(IssuesOf(size))
	if err != nil {
		panic(err)
	}
	return text
}
