package docs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// pageBlock is a fenced block of a page.
type pageBlock struct{ lang, text string }

func pageBlocks(page string) (blocks []pageBlock, err error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	open := false
	for line := range strings.Lines(string(text)) {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open:
			open = false
		case fence:
			open = true
			blocks = append(blocks, pageBlock{lang: strings.TrimSpace(lang)})
		case open:
			blocks[len(blocks)-1].text += line
		}
	}
	return blocks, nil
}

// The programs of the pages are packages of one binary, because linking a binary for each of them would take longer than
// all other tests of this directory. TestPrograms in test/readme vets the programs as they are.

// programPages are the pages whose programs are run, with how many programs each of them has.
var programPages = map[string]int{"../README.md": 3, "choosing-a-client.md": 7, "deployment.md": 2, "from-nethttp.md": 2, "many-cores.md": 2}

// replaceable are strings in the programs that a test can replace when it runs the program.
var replaceable = []string{"localhost:8080", "localhost:8081", ":8080", "10.1.0.0/24"}

// buildPrograms builds the programs of programPages once, and returns the path of the binary. It uses go run, which keeps the
// binary in the build cache. With go build, each run of the tests would link it.
var buildPrograms = sync.OnceValues(func() (string, error) {
	root, err := filepath.Abs("..")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(programDir, "src")
	source := programSource{root: root, dir: dir, overlay: map[string]string{}}
	for page, n := range programPages {
		if err := source.addPage(page, n); err != nil {
			return "", err
		}
	}
	if err := source.addMain(); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": source.overlay})
	if err != nil {
		return "", err
	}
	overlayFile := filepath.Join(programDir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o644); err != nil {
		return "", err
	}
	binary := filepath.Join(programDir, "programs.exe")
	cmd := exec.Command("go", "run", "-overlay", overlayFile, "-buildvcs=false", "./docs/programs")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GALLOP_COPY="+binary)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, nil
})

// programDir is the directory of buildPrograms.
var programDir string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "gallop-docs-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		programDir = dir
		wiretest.WaitInParallel()
		return m.Run()
	}())
}

// programSource is the source of the binary. The go command finds its files in docs/programs, where they are not.
type programSource struct {
	root, dir string
	overlay   map[string]string // the files of dir, by where the go command finds them
	imports   strings.Builder
	cases     strings.Builder
}

func (s *programSource) add(name, text string) error {
	file := filepath.Join(s.dir, name)
	s.overlay[filepath.Join(s.root, "docs", "programs", name)] = file
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644))
}

// addPage makes each program of a page a package with a function Main.
func (s *programSource) addPage(page string, want int) error {
	blocks, err := pageBlocks(page)
	if err != nil {
		return err
	}
	pairs := []string{"package main\n", "package program\n", "\nfunc main() {\n", "\nfunc Main() {\n"}
	for _, text := range replaceable {
		pairs = append(pairs, text, fmt.Sprintf(`"+replaced(%q)+"`, text))
	}
	n := 0
	for _, block := range blocks {
		if block.lang != "go" || !strings.HasPrefix(block.text, "package main\n") {
			continue
		}
		name := fmt.Sprintf("%s%d", strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(filepath.Base(page), ".md"), "-", "")), n)
		fmt.Fprintf(&s.imports, "import %s \"github.com/gallop-http/gallop/docs/programs/%[1]s\"\n", name)
		fmt.Fprintf(&s.cases, "\tcase \"%s %d\":\n\t\t%s.Main()\n", page, n, name)
		err := errors.Join(
			s.add(name+"/program.go", strings.NewReplacer(pairs...).Replace(block.text)),
			s.add(name+"/replaced.go", replacedSource))
		if err != nil {
			return err
		}
		n++
	}
	if n != want {
		return fmt.Errorf("%s has %d programs, want %d", page, n, want)
	}
	return nil
}

// replacedSource is a file of each program. The environment has pairs of what is replaced and by what.
const replacedSource = `package program

import (
	"os"
	"strings"
)

func replaced(text string) string {
	return strings.NewReplacer(strings.Fields(os.Getenv("GALLOP_REPLACE"))...).Replace(text)
}
`

// addMain adds the function that calls the program named in the environment.
func (s *programSource) addMain() error {
	return errors.Join(s.add("copy.go", copySource), s.add("main.go", "package main\n\nimport \"os\"\n"+s.imports.String()+
		"\nfunc main() {\n\tswitch os.Getenv(\"GALLOP_PROGRAM\") {\n"+s.cases.String()+"\tdefault:\n\t\tcopySelf(os.Getenv(\"GALLOP_COPY\"))\n\t}\n}\n"))
}

// copySource is the function with which the binary copies itself, because go run may delete it.
const copySource = `package main

import "os"

func copySelf(name string) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(name, text, 0o755); err != nil {
		panic(err)
	}
}
`

// program is the nth program of a page. Strings in the program are replaced by others, in pairs.
type program struct {
	page    string
	n       int
	replace []string
}

// command returns a command that runs the program until ctx is done.
func (p program) command(t *testing.T, ctx context.Context, args ...string) *exec.Cmd {
	t.Helper()
	binary, err := buildPrograms()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(p.replace); i += 2 {
		if !slices.Contains(replaceable, p.replace[i]) {
			t.Fatalf("%q is not replaceable", p.replace[i])
		}
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("GALLOP_PROGRAM=%s %d", p.page, p.n), "GALLOP_REPLACE="+strings.Join(p.replace, " "))
	return cmd
}

// runProgram starts a program, which is killed when t ends, and waits until it listens on an address.
func runProgram(t *testing.T, addr string, p program, args ...string) (cmd *exec.Cmd, output *bytes.Buffer) {
	t.Helper()
	output = new(bytes.Buffer)
	ctx, cancel := context.WithCancel(context.Background())
	cmd = p.command(t, ctx, args...)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait()
	})
	awaitListening(t, addr)
	return cmd, output
}

// awaitListening waits until a program listens on an address.
func awaitListening(t *testing.T, addr string) {
	t.Helper()
	for range 500 {
		if conn, err := net.Dial("tcp4", addr); err == nil {
			conn.Close()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("nothing listens on %s", addr)
}

// statusAndBody returns what a GET of a URL gets.
func statusAndBody(t *testing.T, url string) string {
	t.Helper()
	status, body, err := gallop.GetTimeout(nil, url, 20*time.Second)
	if err != nil {
		t.Errorf("%s: %v", url, err)
	}
	return fmt.Sprintf("%d %s", status, body)
}
