package cli

import (
	"fmt"
	"strings"
)

// writeHelp writes the help text of c, or that of gallop if c is nil.
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
	b.WriteString("The command of gallop, an HTTP stack for Go. To begin, run \"gallop serve\".\n\n" +
		"Usage:\n  gallop COMMAND [flags]\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(b, "  %-10s %s\n", c.name, c.short)
	}
	fmt.Fprintf(b, "  %-10s %s\n", "help", "Show the help of a command")
	writeExamples(b, []example{
		{"Serve the working directory", "gallop serve"},
		{"Show what serve can do", "gallop help serve"},
	})
}

func (c *command) writeHelp(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n\nUsage:\n  gallop %s", c.short, c.name)
	if c.args != "" {
		b.WriteString(" " + c.args)
	}
	if len(c.flags) > 0 {
		b.WriteString(" [flags]")
	}
	fmt.Fprintf(b, "\n\n%s\n", strings.TrimSpace(c.long))
	if len(c.flags) > 0 {
		b.WriteString("\nFlags:\n")
	}
	width := 0
	for _, o := range c.flags {
		width = max(width, len(o.spelled()))
	}
	for _, o := range c.flags {
		lines := strings.Split(o.help, "\n")
		if d := o.into.String(); d != "" && d != "false" {
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
	writeExamples(b, c.examples)
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
