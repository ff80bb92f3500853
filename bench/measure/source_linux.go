package measure

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strings"
	"time"
)

// Commit returns the commit that the tree stands at, with -dirty appended if anything but results differs from it. If clean is
// set, a dirty tree is an error instead: a result is saved only if anybody can repeat it. The current directory must be bench.
func Commit(clean bool) (string, error) {
	var args []string
	if clean {
		args = []string{"-clean"}
	}
	cmd := exec.Command("./commit.sh", args...)
	var text strings.Builder
	cmd.Stderr = &text
	out, err := cmd.Output()
	if err != nil {
		return "", errors.New(strings.TrimSpace(text.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// About describes in two lines what is measured and where: the date, the commit, the versions of Go and fasthttp, the processor
// and the kernel.
func About(commit string) string {
	return fmt.Sprintf("date: %s  commit: %s  %s  %s\ncpu: %s, %d cores  kernel: %s\n",
		time.Now().UTC().Format(time.DateOnly), commit, runtime.Version(), version("github.com/valyala/fasthttp"),
		processor(), runtime.NumCPU(), output("uname", "-r"))
}

// Versions lists the versions of Go and of the frameworks under comparison.
func Versions() []string {
	return []string{
		runtime.Version(), version("github.com/valyala/fasthttp"), version("github.com/gofiber/fiber/v3"), version("github.com/cloudwego/hertz"),
	}
}

// version returns the short name of a module and its version.
func version(module string) string {
	return output("go", "list", "-m", "-f", path.Base(strings.TrimSuffix(module, "/v3"))+" {{.Version}}", module)
}

// Machine describes the processor and the kernel.
func Machine() string {
	return fmt.Sprintf("%s, %d cores, Linux %s", processor(), runtime.NumCPU(), output("uname", "-r"))
}

// output returns the first line that a program prints, or "" if the program does not run.
func output(name string, args ...string) string {
	out, _ := exec.Command(name, args...).Output()
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(text), "model name\t: ")
	name, _, _ := strings.Cut(rest, "\n")
	return name
}
