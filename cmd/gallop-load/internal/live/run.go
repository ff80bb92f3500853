package live

import (
	"context"
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/internal/load/engine"
)

// Run shows the view on a terminal until ctx is done or the user ends it. The view is gone when Run returns, and the summary
// can be printed. If the user has ended the view, the caller has to end the run. A nil control means that the user cannot
// pause the run or change its rate.
func Run(ctx context.Context, source Source, control *engine.Control, in, out *os.File) (End, error) {
	program := tea.NewProgram(newModel(source, control, figure.StyleFor(out)), tea.WithInput(in), tea.WithOutput(out), tea.WithFPS(10),
		tea.WithoutSignalHandler())
	stop := context.AfterFunc(ctx, program.Quit)
	defer stop()
	last, err := program.Run()
	if m, ok := last.(model); ok {
		return m.end, err
	}
	return Finished, err
}
