// Package testcontainers stands for testcontainers-go where that can't be had: it declares what docs/containers.md uses as the
// library does, and starts the daemon at UNDERSTUDY_BINARY in place of a container.
//
// https://pkg.go.dev/github.com/testcontainers/testcontainers-go
package testcontainers

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/testcontainers/testcontainers-go/wait"
)

// ContainerCustomizer changes what is asked for.
type ContainerCustomizer interface {
	Customize(request *request) error
}

type request struct {
	ports    []string
	strategy []wait.Strategy
}

// CustomizeRequestOption is a ContainerCustomizer.
type CustomizeRequestOption func(request *request) error

// Customize changes what is asked for.
func (option CustomizeRequestOption) Customize(request *request) error { return option(request) }

// WithExposedPorts names ports that are to be reached from outside.
func WithExposedPorts(ports ...string) CustomizeRequestOption {
	return func(request *request) error {
		request.ports = append(request.ports, ports...)
		return nil
	}
}

// WithWaitStrategy says when the container is ready.
func WithWaitStrategy(strategies ...wait.Strategy) CustomizeRequestOption {
	return func(request *request) error {
		request.strategy = append(request.strategy, strategies...)
		return nil
	}
}

// Container is what CleanupContainer takes.
type Container interface {
	Terminate(ctx context.Context) error
}

// DockerContainer is a daemon here.
type DockerContainer struct {
	command *exec.Cmd
	address string
	ports   []string
}

// Run starts a daemon, and waits until it is ready.
func Run(ctx context.Context, image string, options ...ContainerCustomizer) (*DockerContainer, error) {
	var wanted request
	for _, option := range options {
		if err := option.Customize(&wanted); err != nil {
			return nil, err
		}
	}
	if !strings.Contains(image, "/understudy:") {
		return nil, fmt.Errorf("there is no image %q", image)
	}
	container := &DockerContainer{command: exec.Command(os.Getenv("UNDERSTUDY_BINARY"), "serve", "--port", "0"), ports: wanted.ports}
	output, err := container.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := container.command.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return container, err
	}
	_, address, _ := strings.Cut(strings.TrimSpace(line), "http://")
	container.address = address
	for _, strategy := range wanted.strategy {
		if err := strategy.WaitUntilReady(ctx, container); err != nil {
			return container, err
		}
	}
	return container, nil
}

// PortEndpoint is the address of an exposed port.
func (container *DockerContainer) PortEndpoint(_ context.Context, port string, proto string) (string, error) {
	for _, exposed := range container.ports {
		if exposed == port {
			return proto + "://" + container.address, nil
		}
	}
	return "", fmt.Errorf("port %q isn't exposed", port)
}

// Terminate ends the daemon.
func (container *DockerContainer) Terminate(_ context.Context) error {
	if err := container.command.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return container.command.Wait()
}

// CleanupContainer ends a container, if there is one, when the test ends.
func CleanupContainer(tb testing.TB, container Container) {
	tb.Helper()
	tb.Cleanup(func() {
		if daemon, isDaemon := container.(*DockerContainer); !isDaemon || daemon == nil {
			return
		}
		if err := container.Terminate(context.Background()); err != nil {
			tb.Errorf("the container didn't end: %v", err)
		}
	})
}
