package measure

import "time"

// Family is a server's process and the children that it has started.
type Family []Process

// FamilyOf returns a process and the children that it has now.
func FamilyOf(pid int) Family {
	p := Process(pid)
	return append(Family{p}, p.Children()...)
}

// CPU returns the processor time of all processes together.
func (f Family) CPU() (user, system time.Duration) {
	for _, p := range f {
		u, s := p.CPU()
		user, system = user+u, system+s
	}
	return user, system
}

// Resident returns the resident memory of all processes together, in bytes. Pages that they share count once for each of them.
func (f Family) Resident() (n int) {
	for _, p := range f {
		n += p.Resident()
	}
	return n
}

// Alive reports whether all of them run.
func (f Family) Alive() bool {
	for _, p := range f {
		if !p.Alive() {
			return false
		}
	}
	return true
}
