package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// tab is a page in a browser without a window, told what to do by the DevTools protocol.
type tab struct {
	t    *testing.T
	conn *websocket.Conn
	last int
}

// openTab starts a browser and opens the page. It skips the test if no browser is installed.
func openTab(t *testing.T, url string) *tab {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("there is no chromium: install it to run the tests of the page")
	}
	profile, err := os.MkdirTemp("", "board-browser")
	if err != nil {
		t.Fatal(err)
	}
	browser := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--remote-debugging-port=0", "--user-data-dir="+profile, "about:blank")
	if err := browser.Start(); err != nil {
		t.Fatalf("%s does not start: %v", program, err)
	}
	t.Cleanup(func() {
		browser.Process.Kill()
		browser.Wait()
		for range 50 { // its children may still write
			if os.RemoveAll(profile) == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	p := &tab{t: t, conn: connect(t, profile)}
	t.Cleanup(func() { p.conn.CloseNow() })
	p.call("Page.navigate", map[string]any{"url": url}, nil)
	p.await(`document.readyState === "complete" && document.body.dataset.live === "yes"`)
	return p
}

// connect connects to the first page of the browser with this profile.
func connect(t *testing.T, profile string) *websocket.Conn {
	t.Helper()
	var err error
	for range 300 {
		var conn *websocket.Conn
		if conn, err = tryConnect(t.Context(), profile); err == nil {
			conn.SetReadLimit(16 << 20)
			return conn
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("the browser cannot be reached: %v", err)
	return nil
}

func tryConnect(ctx context.Context, profile string) (*websocket.Conn, error) {
	text, err := os.ReadFile(filepath.Join(profile, "DevToolsActivePort"))
	if err != nil {
		return nil, err
	}
	port, _, _ := strings.Cut(string(text), "\n")
	response, err := http.Get("http://127.0.0.1:" + port + "/json/list")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var pages []struct {
		Type string `json:"type"`
		URL  string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(response.Body).Decode(&pages); err != nil {
		return nil, err
	}
	for _, p := range pages {
		if p.Type == "page" {
			conn, _, err := websocket.Dial(ctx, p.URL, nil)
			return conn, err
		}
	}
	return nil, errors.New("there is no page")
}

// call calls a method of the protocol.
func (p *tab) call(method string, params map[string]any, result any) {
	p.t.Helper()
	if err := p.tryCall(method, params, result); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
}

// tryCall is call for a method that the browser may refuse.
func (p *tab) tryCall(method string, params map[string]any, result any) error {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	p.last++
	request, _ := json.Marshal(map[string]any{"id": p.last, "method": method, "params": params})
	if err := p.conn.Write(ctx, websocket.MessageText, request); err != nil {
		p.t.Fatal(err)
	}
	for {
		_, message, err := p.conn.Read(ctx)
		if err != nil {
			p.t.Fatalf("%s: %v", method, err)
		}
		var answer struct {
			ID     int             `json:"id"`
			Error  json.RawMessage `json:"error"`
			Result json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal(message, &answer); err != nil {
			p.t.Fatal(err)
		}
		if answer.ID != p.last {
			continue
		}
		if answer.Error != nil {
			return errors.New(string(answer.Error))
		}
		if result != nil {
			json.Unmarshal(answer.Result, result)
		}
		return nil
	}
}

// eval returns the value of an expression on the page.
func (p *tab) eval(expression string) any {
	p.t.Helper()
	value, err := p.tryEval(expression)
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// tryEval is eval for a page that another one may replace meanwhile. Then the browser refuses the evaluation.
func (p *tab) tryEval(expression string) (any, error) {
	p.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	err := p.tryCall("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &got)
	if got.ExceptionDetails != nil {
		err = errors.New(string(got.ExceptionDetails))
	}
	return got.Result.Value, err
}

// await waits until an expression is true.
func (p *tab) await(expression string) {
	p.t.Helper()
	var err error
	for range 1200 {
		var value any
		if value, err = p.tryEval(expression); value == true {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.t.Fatalf("%s is not true, %v; the page is %v", expression, err, p.eval("document.body.innerText"))
}

// submit fills the only field of a form in, as if it was typed, and sends it.
func (p *tab) submit(form, text string) {
	p.t.Helper()
	p.eval(fmt.Sprintf("(() => { const f = document.getElementById(%q); f.elements[0].value = %q; f.requestSubmit(); })()", form, text))
}

// TestInABrowser uses the page as a person would.
func TestInABrowser(t *testing.T) {
	base, _ := start(t)
	p := openTab(t, base+"/")
	if title := p.eval("document.title"); title != "Board" {
		t.Errorf("title %v", title)
	}
	if !strings.Contains(fmt.Sprint(p.eval("getComputedStyle(document.body).maxWidth")), "px") {
		t.Error("the style sheet does not count")
	}
	p.submit("login", "Ada")
	p.await(`document.getElementById("who").textContent === "Ada" && !document.getElementById("write").hidden`)
	if cookies := p.eval("document.cookie"); cookies != "" {
		t.Errorf("scripts see the cookie: %v", cookies)
	}

	p.submit("write", "<b>hello</b>")
	p.await(`document.querySelector("#notes .text")?.textContent === "<b>hello</b>" && document.querySelector("#notes footer b").textContent === "Ada"`)

	// Notes of other users appear without a reload.
	bob := newPerson(t, base)
	bob.signIn("Bob")
	bob.want("POST", "/api/notes", `{"text":"me too"}`, 201, "")
	p.await(`document.querySelectorAll("#notes li").length === 2 && document.querySelector("#notes .text").textContent === "me too"`)
	if removable := p.eval(`[...document.querySelectorAll("#notes .remove")].map(b => !b.hidden).join()`); removable != "false,true" {
		t.Errorf("Ada can remove Bob's note or not her own: %v", removable)
	}
	bob.want("DELETE", "/api/notes/2", "", 204, "")
	p.await(`document.querySelectorAll("#notes li").length === 1`)

	p.upload("photo.txt", "not really a photo")
	p.await(`document.querySelector("#notes a")?.textContent === "photo.txt"`)
	if text := p.eval(`fetch(document.querySelector("#notes a").href).then(r => r.text())`); text != "not really a photo" {
		t.Errorf("the upload came back as %v", text)
	}
	p.upload("page.html", "<script>")
	p.await(`document.getElementById("problem").textContent.includes("only text")`)

	p.call("Page.reload", nil, nil)
	p.await(`document.readyState === "complete" && document.body.dataset.live === "yes" && document.querySelectorAll("#notes li").length === 2`)
	if who := p.eval(`document.getElementById("who").textContent`); who != "Ada" {
		t.Errorf("after the page was loaded again it is %v", who)
	}

	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": true}, nil)
	if p.eval("document.documentElement.scrollWidth <= innerWidth") != true {
		t.Error("a narrow page scrolls sideways")
	}
	for left := 1; left >= 0; left-- {
		p.eval(`document.querySelector("#notes .remove").click()`)
		p.await(fmt.Sprintf(`document.querySelectorAll("#notes li").length === %d`, left))
	}
	p.await(`!document.getElementById("empty").hidden`)
	p.eval(`document.getElementById("logout").requestSubmit()`)
	p.await(`!document.getElementById("login").hidden && document.getElementById("write").hidden`)
}

// TestCrossSiteFormInABrowser lets a user of the board open pages that send forms to it. The first page is of another site. The second
// one only has another port, so the browser considers it the same site and sends the cookie.
func TestCrossSiteFormInABrowser(t *testing.T) {
	base, _ := start(t)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<form method="post" action="%s%s" enctype="text/plain"><input name='{"text":"evil","x":"' value='"}'></form>
			<script>document.forms[0].submit()</script>`, base, r.URL.Path)
	}))
	t.Cleanup(evil.Close)
	p := openTab(t, base+"/")
	p.submit("login", "Ada")
	p.await(`document.getElementById("who").textContent === "Ada"`)
	for _, site := range []string{strings.Replace(evil.URL, "127.0.0.1", "localhost", 1), evil.URL} {
		for _, path := range []string{"/api/notes", "/api/logout"} {
			p.call("Page.navigate", map[string]any{"url": site + path}, nil)
			p.await(fmt.Sprintf(`document.readyState === "complete" && location.href === %q && document.body.innerText.includes("may not come from this page")`, base+path))
		}
	}
	p.call("Page.navigate", map[string]any{"url": base + "/"}, nil)
	p.await(`document.readyState === "complete" && document.body.dataset.live === "yes"`)
	if who, notes := p.eval(`document.getElementById("who").textContent`), p.eval(`document.querySelectorAll("#notes li").length`); who != "Ada" || notes != 0.0 {
		t.Errorf("after the attacks, the user is %v, and there are %v notes", who, notes)
	}
}

// upload chooses a file and sends it.
func (p *tab) upload(name, content string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`(() => {
		const chosen = new DataTransfer();
		chosen.items.add(new File([%q], %q));
		const f = document.getElementById("upload");
		f.elements[0].files = chosen.files;
		f.requestSubmit();
	})()`, content, name))
}

// TestReadme runs the commands of the README and compares what they print.
func TestReadme(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl: install it to run the commands of the README")
	}
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```sh\ncurl")
	script, rest, _ := strings.Cut(rest, "```")
	_, rest, _ = strings.Cut(rest, "```\n")
	want, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the README has no commands, or not what they print")
	}
	base, _ := start(t)
	shell := exec.CommandContext(t.Context(), "sh", "-e", "-c", strings.ReplaceAll("curl"+script, "http://127.0.0.1:8080", base))
	shell.Dir = t.TempDir()
	out, err := shell.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	lines := strings.Split(strings.TrimSpace(want), "\n")
	for i := range max(len(got), len(lines)) {
		if i >= len(got) || i >= len(lines) || !same(got[i], lines[i]) {
			t.Fatalf("line %d of\n%s\nis not as in the README:\n%s", i+1, out, want)
		}
	}
}

// same compares lines. "…" in want stands for any text.
func same(got, want string) bool {
	for i, part := range strings.Split(want, "…") {
		at := strings.Index(got, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		got = got[at+len(part):]
	}
	return got == "" || strings.HasSuffix(want, "…")
}
