"""TensorFlow's parameter-server training on this machine: one figure.

    measure.py {mlp,clicks,fit,dispatch} --workers N

Starts N workers and one parameter server as processes, is their coordinator,
and prints examples (or closures) per second as the last line. The models and
batches are those of benchmarks/bench_train: models.h and data.cc. What makes it
fair is said in docs/performance.md.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["GRPC_FAIL_FAST"] = "use_caller"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

MLP_BATCH = 128
MLP_RATE = 0.1
CLICK_BATCH = 512
CLICK_RATE = 0.05
ROWS, DIM, COLUMNS, NUMBERS = 1_000_000, 16, 26, 13
FOLDER = "/usr/share/datasets/fashion-mnist/"


def free_ports(count):
    """Ports that were free a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def serve(role, index):
    """A task, until it is killed."""
    import tensorflow as tf
    cluster = tf.train.ClusterSpec(json.loads(os.environ["BENCH_CLUSTER"]))
    config = tf.compat.v1.ConfigProto()
    if role == "worker":
        config.inter_op_parallelism_threads = 4
    server = tf.distribute.Server(cluster, job_name=role, task_index=index,
                                  config=config, protocol="grpc")
    server.join()


class Job:
    """The processes of a job; killed at the end."""

    def __init__(self, workers):
        ports = free_ports(workers + 1)
        self.cluster = {
            "worker": [f"127.0.0.1:{port}" for port in ports[1:]],
            "ps": [f"127.0.0.1:{ports[0]}"],
        }
        environment = dict(os.environ, BENCH_CLUSTER=json.dumps(self.cluster))
        self.processes = []
        for role, index in [("ps", 0)] + [("worker", i) for i in range(workers)]:
            self.processes.append(subprocess.Popen(
                [sys.executable, __file__, "serve", role, str(index)],
                env=environment, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL))

    def __enter__(self):
        import tensorflow as tf
        resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
            tf.train.ClusterSpec(self.cluster), rpc_layer="grpc")
        self.strategy = tf.distribute.experimental.ParameterServerStrategy(
            resolver)
        self.coordinator = (
            tf.distribute.experimental.coordinator.ClusterCoordinator(
                self.strategy))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


def images():
    """Fashion-MNIST: 60,000 x 784 floats in [0, 1], and labels."""
    import gzip

    import numpy as np
    with gzip.open(FOLDER + "train-images-idx3-ubyte.gz") as file:
        data = np.frombuffer(file.read(), np.uint8, offset=16)
    with gzip.open(FOLDER + "train-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return (data.reshape(-1, 784).astype(np.float32) / 255,
            labels.astype(np.int64))


def clicks():
    """64 batches of made clicks."""
    import numpy as np
    random = np.random.default_rng(7)
    examples = 64 * CLICK_BATCH
    ids = random.integers(0, ROWS, (examples, COLUMNS))
    numbers = random.standard_normal((examples, NUMBERS)).astype(np.float32)
    return ids, numbers, (numbers[:, 0] > 0).astype(np.float32)


def timed(step, steps, batch):
    """Examples per second, after a tenth of the steps to warm up."""
    for _ in range(max(steps // 10, 5)):
        step()
    yield_to = getattr(step, "join", None)
    if yield_to:
        yield_to()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    if yield_to:
        yield_to()
    return steps * batch / (time.perf_counter() - start)


class Scheduled:
    """A traced function, through a coordinator."""

    def __init__(self, coordinator, function, *args):
        self.coordinator, self.function, self.args = coordinator, function, args

    def __call__(self):
        self.coordinator.schedule(self.function, args=self.args)

    def join(self):
        """Waits for all."""
        self.coordinator.join()


def mlp_layers():
    import tensorflow as tf
    return tf.keras.Sequential([
        tf.keras.layers.Dense(256, activation="relu"),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(10),
    ])


def image_dataset(*_):
    import tensorflow as tf
    x, y = images()
    return (tf.data.Dataset.from_tensor_slices((x, y)).shuffle(60_000).repeat()
            .batch(MLP_BATCH).prefetch(2))


def click_dataset(*_):
    import tensorflow as tf
    return (tf.data.Dataset.from_tensor_slices(clicks())
            .shuffle(64 * CLICK_BATCH).repeat().batch(CLICK_BATCH).prefetch(2))


def measure_mlp(job, steps):
    import tensorflow as tf
    with job.strategy.scope():
        model = mlp_layers()
        model.build((None, 784))
        # The new one takes far longer for the same.
        optimizer = tf.keras.optimizers.legacy.SGD(MLP_RATE)

    @tf.function
    def train(iterator):
        def run(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(
                    tf.nn.sparse_softmax_cross_entropy_with_logits(
                        y, model(x, training=True)))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        job.strategy.run(run, args=next(iterator))

    iterator = iter(job.coordinator.create_per_worker_dataset(image_dataset))
    return timed(Scheduled(job.coordinator, train, iterator), steps, MLP_BATCH)


def measure_clicks(job, steps):
    import tensorflow as tf
    with job.strategy.scope():
        table = tf.Variable(
            tf.random.uniform((ROWS, DIM), -0.05, 0.05), name="table")
        tower = tf.keras.Sequential([
            tf.keras.layers.Dense(256, activation="relu"),
            tf.keras.layers.Dense(128, activation="relu"),
            tf.keras.layers.Dense(1),
        ])
        tower.build((None, COLUMNS * DIM + NUMBERS))
        optimizer = tf.keras.optimizers.legacy.SGD(CLICK_RATE)

    @tf.function
    def train(iterator):
        def run(ids, numbers, y):
            with tf.GradientTape() as tape:
                rows = tf.nn.embedding_lookup(table, ids)
                x = tf.concat(
                    [tf.reshape(rows, (-1, COLUMNS * DIM)), numbers], 1)
                loss = tf.reduce_mean(
                    tf.nn.sigmoid_cross_entropy_with_logits(
                        y[:, None], tower(x, training=True)))
            variables = [table] + tower.trainable_variables
            optimizer.apply_gradients(
                zip(tape.gradient(loss, variables), variables))
        job.strategy.run(run, args=next(iterator))

    iterator = iter(job.coordinator.create_per_worker_dataset(click_dataset))
    return timed(Scheduled(job.coordinator, train, iterator), steps,
                 CLICK_BATCH)


def measure_fit(job, steps):
    import tensorflow as tf
    with job.strategy.scope():
        model = mlp_layers()
        model.compile(
            tf.keras.optimizers.legacy.SGD(MLP_RATE),
            tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"])
    data = tf.keras.utils.experimental.DatasetCreator(image_dataset)
    model.fit(data, epochs=1, steps_per_epoch=max(steps // 10, 5), verbose=0)
    start = time.perf_counter()
    model.fit(data, epochs=1, steps_per_epoch=steps, verbose=0)
    return steps * MLP_BATCH / (time.perf_counter() - start)


def measure_dispatch(job, steps):
    import tensorflow as tf

    @tf.function
    def nothing():
        pass

    return timed(Scheduled(job.coordinator, nothing), steps, 1)


MEASURES = {
    "mlp": (measure_mlp, 1_000),
    "clicks": (measure_clicks, 200),
    "fit": (measure_fit, 500),
    "dispatch": (measure_dispatch, 2_000),
}


def main():
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=MEASURES)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    measure, steps = MEASURES[options.what]
    with Job(options.workers) as job:
        print(measure(job, steps), flush=True)
        # The coordinator's threads wait for tasks that are gone in a moment.
        for process in job.processes:
            process.kill()
        os._exit(0)


if __name__ == "__main__":
    main()
