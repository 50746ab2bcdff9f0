// Package wait stands for the one of testcontainers-go.
//
// https://pkg.go.dev/github.com/testcontainers/testcontainers-go/wait
package wait

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// StrategyTarget is the container that is waited for.
type StrategyTarget interface {
	PortEndpoint(ctx context.Context, port string, proto string) (string, error)
}

// Strategy waits until a container is ready.
type Strategy interface {
	WaitUntilReady(ctx context.Context, target StrategyTarget) error
}

// HTTPStrategy waits until a path answers 200.
type HTTPStrategy struct {
	path string
	port string
}

// ForHTTP waits for this path.
func ForHTTP(path string) *HTTPStrategy { return &HTTPStrategy{path: path} }

// WithPort says at which port of the container.
func (strategy *HTTPStrategy) WithPort(port string) *HTTPStrategy {
	strategy.port = port
	return strategy
}

// WaitUntilReady asks for a minute.
func (strategy *HTTPStrategy) WaitUntilReady(ctx context.Context, target StrategyTarget) error {
	url, err := target.PortEndpoint(ctx, strategy.port, "http")
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		answer, err := http.Get(url + strategy.path)
		if err != nil {
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("%s%s didn't answer 200", url, strategy.path)
}
