package cli

import (
	"fmt"
	"strings"
)

// writeHelp writes the help text of c, or that of gallop-load if c is nil.
func writeHelp(env Env, c *command) error {
	var b strings.Builder
	if c == nil {
		writeOverview(&b)
	} else {
		c.writeHelp(&b)
	}
	_, err := fmt.Fprint(env.Stdout, b.String())
	return err
}

func writeOverview(b *strings.Builder) {
	b.WriteString("A load generator for HTTP servers. To begin, run \"gallop-load URL\".\n\n" +
		"Usage:\n  gallop-load [flags] URL\n  gallop-load COMMAND [flags]\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(b, "  %-10s %s\n", c.name, c.short)
	}
	fmt.Fprintf(b, "  %-10s %s\n", "help", "Show the help of a command")
	writeExamples(b, []example{
		{"10 users for 10 seconds", "gallop-load -c 10 http://localhost:8080/"},
		{"Show all flags", "gallop-load help load"},
	})
	b.WriteString("\nExit status:\n")
	for _, line := range []string{
		"  0  the run ended, and all thresholds hold",
		" 99  a threshold was violated, or iterations were dropped",
		"104  the command line or the scenario file is wrong",
		"105  the run was interrupted",
		"107  the run failed",
	} {
		b.WriteString("  " + line + "\n")
	}
}

func (c *command) writeHelp(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n\nUsage:\n  gallop-load %s", c.short, c.name)
	if len(c.flags) > 0 {
		b.WriteString(" [flags]")
	}
	if c.args != "" {
		b.WriteString(" " + c.args)
	}
	fmt.Fprintf(b, "\n\n%s\n", strings.TrimSpace(c.long))
	width := 0
	for _, o := range c.flags {
		width = max(width, len(o.spelled()))
	}
	for _, o := range c.flags {
		if o.group != "" {
			fmt.Fprintf(b, "\n%s:\n", o.group)
		}
		o.writeHelp(b, width)
	}
	writeExamples(b, c.examples)
}

func (o *option) writeHelp(b *strings.Builder, width int) {
	lines := strings.Split(o.help, "\n")
	if d := o.into.String(); d != "" && d != "false" && d != "0" {
		lines[len(lines)-1] += " (default " + d + ")"
	}
	for i, line := range lines {
		name := ""
		if i == 0 {
			name = o.spelled()
		}
		fmt.Fprintf(b, "  %-*s  %s\n", width, name, line)
	}
}

// spelled returns the flag as the help text shows it.
func (o *option) spelled() string {
	s := "--" + o.name
	if o.short != "" {
		s = "-" + o.short + ", " + s
	}
	if !o.isSwitch() {
		s += " " + o.value
	}
	return s
}

func writeExamples(b *strings.Builder, examples []example) {
	b.WriteString("\nExamples:\n")
	for i, e := range examples {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "  # %s\n  %s\n", e.what, e.line)
	}
}
