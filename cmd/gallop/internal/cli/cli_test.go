package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/cmd/internal/commandline"

	"github.com/gallop-http/gallop"
)

var update = flag.Bool("update", false, "write what is printed to testdata")

// printed runs a command line and returns its standard output, its standard error and its exit status.
func printed(args ...string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	status = Main(args, commandline.Env{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }})
	return out.String(), errs.String(), status
}

func TestHelp(t *testing.T) {
	for golden, lines := range map[string][]string{
		"help.txt":         {"", "help", "--help", "-h", "help help", "help --help"},
		"help-serve.txt":   {"help serve", "serve --help", "serve -h", "serve dir --echo --help"},
		"help-load.txt":    {"help load"},
		"help-version.txt": {"help version", "version --help"},
	} {
		file := filepath.Join("testdata", golden)
		for _, line := range lines {
			stdout, stderr, status := printed(strings.Fields(line)...)
			if stderr != "" || status != 0 {
				t.Errorf("gallop %s: status %d, %q", line, status, stderr)
			}
			if *update {
				if err := os.WriteFile(file, []byte(stdout), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if stdout != string(want) {
				t.Errorf("gallop %s:\n%s\nis not %s; run go test with -update if it should be", line, stdout, file)
			}
			for _, l := range strings.Split(stdout, "\n") {
				if len(l) > 100 {
					t.Errorf("gallop %s: too wide: %s", line, l)
				}
			}
		}
	}
}

func TestEveryCommandHasExamples(t *testing.T) {
	for _, c := range program.Commands() {
		if len(c.Examples) == 0 || c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s lacks examples or a short text without a full stop", c.Name)
		}
	}
}

func TestMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ line, wrong, next string }{
		{"serv", `there is no command "serv"`, `Did you mean "serve"?`},
		{"xyzzy", `there is no command "xyzzy"`, `Run "gallop help"`},
		{"help xyzzy", `there is no command "xyzzy"`, `Run "gallop help"`},
		{"serve --adr :80", "serve has no flag --adr\n", "Did you mean --addr?"},
		{"serve -adr=:80", "serve has no flag -adr\n", "Did you mean --addr?"},
		{"serve -xyzzy", "serve has no flag -xyzzy\n", `Run "gallop help serve"`},
		{"serve ---echo", "serve has no flag ---echo\n", "Did you mean --echo?"},
		{"serve -q", "serve has no flag -q\n", `Run "gallop help serve"`},
		{"serve --addr", "--addr needs a value: --addr HOST:PORT\n", `Run "gallop help serve"`},
		{"serve -p", "-p needs a value: -p PORT\n", `Run "gallop help serve"`},
		{"serve -port", "-port needs a value: -port PORT\n", `Run "gallop help serve"`},
		{"serve -p http", `gallop: -p must be a port from 0 to 65535, not "http"`, `Run "gallop help serve"`},
		{"serve --port=65536", `gallop: --port must be a port from 0 to 65535, not "65536"`, `Run "gallop help serve"`},
		{"serve -p --echo", `gallop: -p must be a port from 0 to 65535, not "--echo"`, ""},
		{"serve --addr=", `gallop: --addr must be HOST:PORT, HOST or :PORT with a port from 0 to 65535, not ""`, ""},
		{"serve --addr 70000", `gallop: --addr must be HOST:PORT, HOST or :PORT with a port from 0 to 65535, not "70000"`, ""},
		{"serve --addr :80 -p 81", "--addr :80 and --port 81 name different ports", "Give the port once"},
		{"serve -grace soon", `gallop: -grace must be a duration such as 30s, 1m30s or 500ms, not "soon"`, `Run "gallop help serve"`},
		{"serve --grace -1s", "gallop: --grace must be a duration", ""},
		{"serve --max-body 4x", `gallop: --max-body must be a size below 2 GiB such as 500k, 4MiB or 1G, not "4x"`, ""},
		{"serve --max-body 0", "gallop: --max-body must be a size", ""},
		{"serve --max-body 2GiB", `gallop: --max-body must be a size below 2 GiB such as 500k, 4MiB or 1G, not "2GiB"`, ""},
		{"serve --log xml", `gallop: --log must be one of text, json, off, not "xml"`, ""},
		{"serve --echo=perhaps", `gallop: --echo must be true or false, not "perhaps"`, ""},
		{"serve a b", `"b" is a second one`, "run gallop once for each"},
		{"serve -- --echo", `DIR: there is no directory "--echo"`, ""},
		{"serve nowhere", `DIR: there is no directory "nowhere"`, "Check the spelling"},
		{"serve " + file, "is a file", "Name the directory that contains it"},
		{"serve --spa testdata", `--spa: there is no file index.html in "testdata"`, "your build"},
		{"serve --spa --no-index", "--spa serves index.html where --no-index lists the directory", "Leave one of them out"},
		{"serve --spa --echo-all", "--spa serves files, but --echo-all serves none", "--echo instead"},
		{"serve --h2c --http1", "--h2c turns HTTP/2 on, but --http1 turns it off", "Leave one of them out"},
		{"serve --tls-cert x", "--tls-cert and --tls-key need each other", "Give both"},
		{"version 2", `version takes no arguments, but "2" is one`, ""},
	} {
		stdout, stderr, status := printed(strings.Fields(tc.line)...)
		if status != exitUsage || stdout != "" {
			t.Errorf("gallop %s: status %d, %q", tc.line, status, stdout)
		}
		if lines := strings.Count(stderr, "\n"); lines != 2 {
			t.Errorf("gallop %s: %d lines, want what was wrong and what to do:\n%s", tc.line, lines, stderr)
		}
		if !strings.HasPrefix(stderr, "gallop: ") || !strings.Contains(stderr, tc.wrong) || !strings.Contains(stderr, tc.next) {
			t.Errorf("gallop %s: got\n%swant %q and %q", tc.line, stderr, tc.wrong, tc.next)
		}
	}
}

// TestFailures covers commands that fail although their flags are valid.
func TestFailures(t *testing.T) {
	certPEM, keyPEM, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	_, otherPEM, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for name, content := range map[string][]byte{"cert": certPEM, "key": keyPEM, "other": otherPEM, "text": []byte("text")} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ line, want string }{
		{"serve --addr 127.0.0.1:99999", "cannot listen on 127.0.0.1:99999"},
		{"serve --addr 127.0.0.1:nonsense", "Choose another address with --addr"},
		{"serve --tls-cert nowhere --tls-key key", "gallop: --tls-cert: open nowhere: "},
		{"serve --tls-cert cert --tls-key nowhere", "gallop: --tls-key: open nowhere: "},
		{"serve --tls-cert text --tls-key key", "gallop: --tls-cert: text has no certificate in PEM"},
		{"serve --tls-cert key --tls-key cert", "gallop: --tls-cert: key has no certificate in PEM"},
		{"serve --tls-cert cert --tls-key text", "gallop: --tls-key: text has no private key in PEM"},
		{"serve --tls-cert cert --tls-key other", "gallop: --tls-cert cert and --tls-key other do not work together: tls: "},
	} {
		_, stderr, status := printed(strings.Fields(tc.line)...)
		if status != exitFailed || !strings.Contains(stderr, tc.want) {
			t.Errorf("gallop %s: status %d, %q", tc.line, status, stderr)
		}
	}
}

// TestLoad puts a program in the place of gallop-load.
func TestLoad(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	stdout, stderr, status := printed("load", "--help")
	if status != exitFailed || stdout != "" || !strings.Contains(stderr, "load needs the program gallop-load") || !strings.Contains(stderr, "gallop help load") {
		t.Errorf("without the program: status %d, %q, %q", status, stdout, stderr)
	}
	script := "#!/bin/sh\necho \"out: $*\"\necho err >&2\nexit 99\n"
	if err := os.WriteFile(filepath.Join(dir, "gallop-load"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, status = printed("load", "--help", "-c", "3", "--", "x")
	if status != 99 || stdout != "out: --help -c 3 -- x\n" || stderr != "err\n" {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
}

func TestListenAddress(t *testing.T) {
	for _, tc := range []struct {
		addr, port string // "" if the flag is not given
		want       string // "" if the flags disagree
	}{
		{"", "", ":8080"},
		{"", "3000", ":3000"},
		{"", "0", ":0"},
		{":1", "", ":1"},
		{"1", "", ":1"},
		{"localhost", "", "localhost:8080"},
		{"localhost", "3000", "localhost:3000"},
		{"localhost:", "3000", "localhost:3000"},
		{"localhost:1", "", "localhost:1"},
		{"localhost:1", "1", "localhost:1"},
		{"localhost:1", "2", ""},
		{"1", "2", ""},
		{"[::1]:0", "", "[::1]:0"},
		{"[::1]", "2", "[::1]:2"},
		{"::1", "", "[::1]:8080"},
	} {
		addr, port := addrFlag(""), portFlag{port: "8080"}
		if tc.addr != "" {
			if err := addr.Set(tc.addr); err != nil {
				t.Fatal(err)
			}
		}
		if tc.port != "" {
			if err := port.Set(tc.port); err != nil {
				t.Fatal(err)
			}
		}
		got, agree := listenAddress(addr, port)
		if agree != (tc.want != "") || agree && got != tc.want {
			t.Errorf("--addr %q --port %q: %q, %v", tc.addr, tc.port, got, agree)
		}
	}
}

func TestVersion(t *testing.T) {
	for _, line := range []string{"version", "--version", "-v"} {
		stdout, _, status := printed(line)
		if f := strings.Fields(stdout); status != 0 || len(f) != 4 || f[0] != "gallop" || !strings.HasPrefix(f[2], "go1.") {
			t.Errorf("%s: %q", line, stdout)
		}
	}
}

func TestUnits(t *testing.T) {
	for s, want := range map[string]int{
		"1": 1, "1500": 1500, "1k": 1000, "1K": 1000, "1kB": 1000, "4Ki": 4096, "4KiB": 4096, "4 MiB": 4 << 20,
		"1.5M": 1_500_000, "1g": 1e9, "1GiB": 1 << 30, "0.5KiB": 512,
	} {
		var f sizeFlag
		if err := f.Set(s); err != nil || int(f) != want {
			t.Errorf("%s is %d, %v, want %d", s, f, err, want)
		}
		if again := sizeFlag(0); again.Set(f.String()) != nil || again != f {
			t.Errorf("%s is shown as %s", s, f.String())
		}
	}
	for s, want := range map[string]time.Duration{"30s": 30 * time.Second, "1m30s": 90 * time.Second, "500ms": 500 * time.Millisecond, "2": 2 * time.Second, "0.5": 500 * time.Millisecond} {
		var f durationFlag
		if err := f.Set(s); err != nil || time.Duration(f) != want {
			t.Errorf("%s is %v, %v", s, time.Duration(f), err)
		}
		if again := durationFlag(0); again.Set(f.String()) != nil || again != f {
			t.Errorf("%s is shown as %s", s, f.String())
		}
	}
}

func TestFlagsMayFollowArguments(t *testing.T) {
	var echo commandline.Bool
	var addr commandline.String
	port := portFlag{port: "8080"}
	c := &commandline.Command{Name: "x", Flags: []commandline.Option{{Name: "echo", Into: &echo}, {Name: "addr", Value: "A", Into: &addr}, {Name: "port", Value: "P", Into: &port, Short: "p"}}}
	rest, err := c.Parse([]string{"dir", "--echo", "-addr=:1", "more", "-p", "2", "-", "--", "--echo", "-x"})
	if got := strings.Join(rest, " "); err != nil || got != "dir more - --echo -x" || !bool(echo) || addr != ":1" || port.port != "2" {
		t.Errorf("%q, %v, %v, %q, %q", got, err, echo, addr, port.port)
	}
}
