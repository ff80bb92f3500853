package profile

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Check requests each workload of a server and returns an error for each wrong response. Without items, the workloads with a
// database are left out.
func Check(client *http.Client, url string, items bool) error {
	c := checker{client: client, url: url}
	c.sums()
	c.documents()
	c.uploads()
	if items {
		c.items()
	}
	return errors.Join(c.errors...)
}

type checker struct {
	client *http.Client
	url    string
	errors []error
}

func (c *checker) fail(format string, arguments ...any) {
	c.errors = append(c.errors, fmt.Errorf(format, arguments...))
}

// ask sends a request and returns the response with its body, which is decompressed if it is gzip.
func (c *checker) ask(method, path string, body io.Reader, coding string) (*http.Response, string) {
	r, err := http.NewRequest(method, c.url+path, body)
	if err != nil {
		c.fail("%v", err)
		return new(http.Response), ""
	}
	if coding == "" {
		coding = "identity"
	}
	r.Header.Set("Accept-Encoding", coding)
	resp, err := c.client.Do(r)
	if err != nil {
		c.fail("%v", err)
		return new(http.Response), ""
	}
	defer resp.Body.Close()
	from := io.Reader(resp.Body)
	if resp.Header.Get("Content-Encoding") == "gzip" {
		if from, err = gzip.NewReader(from); err != nil {
			c.fail("%s %s: %v", method, path, err)
			return resp, ""
		}
	}
	got, err := io.ReadAll(from)
	if err != nil {
		c.fail("%s %s: %v", method, path, err)
	}
	return resp, string(got)
}

// expect sends a request and compares the response.
func (c *checker) expect(method, path string, body io.Reader, want string) {
	resp, got := c.ask(method, path, body, "")
	if resp.StatusCode != 200 || got != want || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		c.fail("%s %s: status %d, %v, %.100q", method, path, resp.StatusCode, resp.Header["Content-Type"], got)
	}
}

// unsized hides the length of a reader, so that the body has no Content-Length.
type unsized struct{ io.Reader }

func (c *checker) sums() {
	c.expect("GET", "/baseline11?a=13&b=42", nil, "55")
	c.expect("GET", "/baseline11?a=-13&b=7", nil, "-6")
	c.expect("POST", "/baseline11?a=13&b=42", strings.NewReader("20"), "75")
	c.expect("POST", "/baseline11?a=13&b=42", unsized{strings.NewReader("20")}, "75")
	c.expect("GET", "/pipeline", nil, "ok")
}

func (c *checker) uploads() {
	for _, size := range []int{0, 500_000, 2_000_000} {
		content := strings.Repeat("u", size)
		c.expect("POST", "/upload", strings.NewReader(content), strconv.Itoa(size))
		c.expect("POST", "/upload", unsized{strings.NewReader(content)}, strconv.Itoa(size))
	}
}

// documents compares the documents with and without compression.
func (c *checker) documents() {
	for count, m := range map[int]int{1: 3, 5: 7, 10: 2, 15: 5, 25: 4, 40: 8, 50: 6} {
		path := fmt.Sprintf("/json/%d?m=%d", count, m)
		var want Lines
		want.Fill(count, m)
		encoded, _ := json.Marshal(&want)
		for _, coding := range []string{"", "gzip"} {
			resp, got := c.ask("GET", path, nil, coding)
			if !sameDocument(got, encoded) || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
				c.fail("%s: %v, %.200q", path, resp.Header["Content-Type"], got)
			}
			if resp.Header.Get("Content-Encoding") != coding && (coding == "" || count >= 25) {
				c.fail("%s: coding %q", path, resp.Header.Get("Content-Encoding"))
			}
		}
	}
}

// sameDocument ignores white space and the order of members.
func sameDocument(got string, want []byte) bool {
	var a, b any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal(want, &b) != nil {
		return false
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func (c *checker) items() {
	c.page("/async-db?min=10&max=50&limit=20", 20, func(i Item) bool { return i.Price >= 10 && i.Price <= 50 })
	c.page("/async-db?min=10000&max=20000&limit=20", 0, nil)
	c.page("/crud/items?category=tools&page=2&limit=5", 5, func(i Item) bool { return i.Category == "tools" && i.ID > 25 && i.ID <= 50 })
	const lamp = `{"id":200000,"name":"Lamp","category":"garden","price":5,"quantity":2,"active":true,"tags":["new"],"rating":{"score":3,"count":4}}`
	c.item("POST", "/crud/items", lamp, 201, "", lamp)
	c.item("GET", "/crud/items/200000", "", 200, "MISS", lamp)
	c.item("PUT", "/crud/items/200000", `{"name":"Lantern","price":6,"quantity":1}`, 200, "", "")
	c.item("GET", "/crud/items/200000", "", 200, "MISS", strings.NewReplacer("Lamp", "Lantern", `"price":5`, `"price":6`, `"quantity":2`, `"quantity":1`).Replace(lamp))
	c.item("GET", "/crud/items/300000", "", 404, "", "")
	for range 50 { // the cache keeps items for 200 ms only, and this process may stall
		if resp, _ := c.ask("GET", "/crud/items/200000", nil, ""); resp.Header.Get("X-Cache") == "HIT" {
			return
		}
	}
	c.fail("items never come from the cache")
}

func (c *checker) page(path string, want int, holds func(Item) bool) {
	resp, body := c.ask("GET", path, nil, "")
	var got Page
	if err := json.Unmarshal([]byte(body), &got); err != nil || resp.StatusCode != 200 || got.Count != want || len(got.Items) != want {
		c.fail("%s: status %d, %.200q", path, resp.StatusCode, body)
		return
	}
	for _, i := range got.Items {
		if !holds(i) {
			c.fail("%s: %+v", path, i)
		}
	}
}

func (c *checker) item(method, path, body string, status int, cache, want string) {
	resp, got := c.ask(method, path, strings.NewReader(body), "")
	if resp.StatusCode != status || resp.Header.Get("X-Cache") != cache || want != "" && !sameDocument(got, []byte(want)) {
		c.fail("%s %s: status %d, X-Cache %q, %.200q", method, path, resp.StatusCode, resp.Header.Get("X-Cache"), got)
	}
}
