package commandline

import (
	"fmt"
	"io"
	"strings"
)

// help writes the help text of the command that args name, or of the program.
func (p *Program) help(args []string, env Env) error {
	if len(args) == 0 || args[0] == "help" || isHelp(args[0]) {
		return p.writeOverview(env)
	}
	c, err := p.Find(args[0])
	if err != nil {
		return err
	}
	var b strings.Builder
	c.writeHelp(&b)
	_, err = io.WriteString(env.Stdout, b.String())
	return err
}

func (p *Program) writeOverview(env Env) error {
	var b strings.Builder
	b.WriteString(p.Intro + "\n\nUsage:\n")
	for _, line := range p.Usage {
		b.WriteString("  " + line + "\n")
	}
	b.WriteString("\nCommands:\n")
	for _, c := range p.Commands() {
		fmt.Fprintf(&b, "  %-10s %s\n", c.Name, c.Short)
	}
	fmt.Fprintf(&b, "  %-10s %s\n", "help", "Show the help of a command")
	writeExamples(&b, p.Examples)
	if len(p.Statuses) > 0 {
		b.WriteString("\nExit status:\n")
	}
	for _, line := range p.Statuses {
		b.WriteString("  " + line + "\n")
	}
	_, err := io.WriteString(env.Stdout, b.String())
	return err
}

func (c *Command) writeHelp(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n\nUsage:\n  %s %s", c.Short, c.program.Name, c.Name)
	if c.Args != "" {
		b.WriteString(" " + c.Args)
	}
	if len(c.Flags) > 0 {
		b.WriteString(" [flags]")
	}
	fmt.Fprintf(b, "\n\n%s\n", strings.TrimSpace(c.Long))
	width := 0
	for _, o := range c.Flags {
		width = max(width, len(o.spelled()))
	}
	for i, o := range c.Flags {
		switch {
		case o.Group != "":
			fmt.Fprintf(b, "\n%s:\n", o.Group)
		case i == 0:
			b.WriteString("\nFlags:\n")
		}
		o.writeHelp(b, width)
	}
	writeExamples(b, c.Examples)
}

func (o *Option) writeHelp(b *strings.Builder, width int) {
	lines := strings.Split(o.Help, "\n")
	if d := o.Into.String(); d != "" && d != "false" && d != "0" {
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
func (o *Option) spelled() string {
	s := "--" + o.Name
	if o.Short != "" {
		s = "-" + o.Short + ", " + s
	}
	if !o.isSwitch() {
		s += " " + o.Value
	}
	return s
}

func writeExamples(b *strings.Builder, examples [][2]string) {
	b.WriteString("\nExamples:\n")
	for i, e := range examples {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "  # %s\n  %s\n", e[0], e[1])
	}
}
