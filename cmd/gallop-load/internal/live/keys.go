package live

import (
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/internal/load/engine"
)

// End says why a view has ended.
type End int

// Reasons for the end of a view.
const (
	Finished    End = iota // the run has ended
	Quit                   // the user pressed q and wants the summary
	Interrupted            // the user pressed Ctrl+C
)

// every is the time between two looks at the source.
const every = 200 * time.Millisecond

// step is the factor of one press of + or -.
const step = 1.1

// model is the state of the view. Update and View are pure, apart from the source and the control.
type model struct {
	source  Source
	control *engine.Control
	snap    Snapshot
	on      screen
	end     End
}

type tick struct{}

func later() tea.Cmd { return tea.Tick(every, func(time.Time) tea.Msg { return tick{} }) }

func newModel(source Source, control *engine.Control, style figure.Style) model {
	m := model{source: source, control: control, on: screen{width: 80, height: 24, style: style}}
	m.look()
	return m
}

// look takes a snapshot and the state of the controls.
func (m *model) look() {
	m.snap = m.source.Snapshot()
	m.on.paused, m.on.factor = m.control.Paused(), m.control.Factor()
}

// Init starts the clock of the view.
func (m model) Init() tea.Cmd { return later() }

// Update handles a key, a new size or a tick.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tick:
		m.look()
		return m, later()
	case tea.WindowSizeMsg:
		m.on.width, m.on.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.key(msg.String())
	}
	return m, nil
}

func (m model) key(key string) (tea.Model, tea.Cmd) {
	switch key {
	case "q":
		m.end = Quit
		return m, tea.Quit
	case "ctrl+c":
		m.end = Interrupted
		return m, tea.Quit
	}
	if m.control == nil {
		return m, nil
	}
	switch key {
	case "p", "space":
		m.control.Pause(!m.control.Paused())
	case "+", "=":
		m.control.Scale(m.control.Factor() * step)
	case "-":
		m.control.Scale(m.control.Factor() / step)
	}
	m.look()
	return m, nil
}

// View draws the last snapshot on the alternate screen.
func (m model) View() tea.View {
	v := tea.NewView(view(&m.snap, m.on))
	v.AltScreen = true
	v.WindowTitle = "gallop load"
	return v
}
