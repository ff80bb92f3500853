package docs_test

import (
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The first program of deployment.md responds to probes, drains after SIGTERM, and ends with status 0.
func TestDeploymentProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	addr, admin := freeAddress(t), freeAddress(t)
	program, output := runProgram(t, addr, buildPrograms(t, "deployment.md")[0], "-addr", addr, "-admin", admin, "-lame-duck", "1s")
	for url, want := range map[string]string{
		"http://" + addr + "/livez":           "200 ok",
		"http://" + addr + "/readyz":          "200 ok",
		"http://" + addr + "/":                "200 hello",
		"http://" + admin + "/metrics":        "200 http_requests_total ",
		"http://" + admin + "/debug/pprof/":   "200 ",
		"http://" + admin + "/something/else": "404 ",
	} {
		if got := statusAndBody(t, url); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}

	if err := program.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for tries := 0; statusAndBody(t, "http://"+addr+"/readyz") != "503 draining"; tries++ {
		if tries == 20 {
			t.Fatal("the program is ready although it drains")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := statusAndBody(t, "http://"+addr+"/"); got != "200 hello" {
		t.Errorf("got %s during LameDuck", got)
	}
	if err := program.Wait(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
