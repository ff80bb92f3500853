package child

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	Play(Roles{
		"echo": func(config []byte) error {
			return Obey(string(config), func(command string) any { return strings.ToUpper(command) })
		},
		"fail": func([]byte) error { return errors.New("on purpose") },
	})
	os.Exit(m.Run())
}

func start(t *testing.T, role string) *Process {
	t.Helper()
	cmd, err := Command(role, "config")
	if err != nil {
		t.Fatal(err)
	}
	if role == "fail" {
		cmd.Stderr = nil
	}
	p, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestObedience(t *testing.T) {
	p := start(t, "echo")
	defer p.Stop()
	var answer string
	if err := p.Hear(&answer); err != nil || answer != `"config"` {
		t.Fatalf("%q, %v", answer, err)
	}
	for _, command := range []string{"one", "two"} {
		if err := p.Ask(command, &answer); err != nil || answer != strings.ToUpper(command) {
			t.Errorf("%s: %q, %v", command, answer, err)
		}
	}
}

func TestEndedChild(t *testing.T) {
	p := start(t, "fail")
	var answer string
	if err := p.Hear(&answer); err == nil {
		t.Errorf("a process that has failed answers %q", answer)
	}
	p.Stop()
	if code := p.Cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit status %d", code)
	}
}
