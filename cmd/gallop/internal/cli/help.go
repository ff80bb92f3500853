package cli

import (
	"fmt"
	"strings"
)

// writeHelp writes the help of c, or of gallop if that is nil.
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
	b.WriteString("gallop is an HTTP stack for Go; this is its command. Begin with \"gallop serve\".\n\n" +
		"Usage:\n  gallop COMMAND [flags]\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(b, "  %-10s %s\n", c.name, c.short)
	}
	fmt.Fprintf(b, "  %-10s %s\n", "help", "Explain a command")
	writeExamples(b, []example{
		{"Serve the working directory", "gallop serve"},
		{"Explain what serve can do", "gallop help serve"},
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

func (o *option) spelled() string {
	if o.value == "" {
		return "--" + o.name
	}
	return "--" + o.name + " " + o.value
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
