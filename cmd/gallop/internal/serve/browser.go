package serve

import (
	"fmt"
	"os/exec"
	"runtime"
)

// openBrowser opens url with the program that the system has for it. It does not wait for that
// program, and says on standard error if it fails: the server works without it.
func (s *site) openBrowser(url string) {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", url)
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	default:
		cmd = exec.Command("xdg-open", url)
	}
	detach(cmd)
	go func() {
		if err := cmd.Run(); err != nil {
			fmt.Fprintf(s.Stderr, "gallop: --open: cannot start a browser: %v; open %s yourself\n", err, url)
		}
	}()
}
