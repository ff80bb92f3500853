package conn_test

import (
	"testing"

	"github.com/gallop-http/gallop/internal/poll"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func TestMain(m *testing.M) {
	wiretest.OpenForGood = poll.Yield
	wiretest.RunWaiting(m)
}
