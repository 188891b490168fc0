#!/usr/bin/env python3
"""The examples, with few steps.

    tests/examples/examples_test.py BIN_DIR [CLASS]
"""

import pathlib
import unittest

from run_example import BIN, ROOT, ExampleTest

IMAGES = pathlib.Path("/usr/share/datasets/fashion-mnist")
HAVE_IMAGES = unittest.skipUnless(
    IMAGES.exists(),
    f"no {IMAGES}: install the Debian package dataset-fashion-mnist")


class CustomLoop(ExampleTest):

    def test_finds_the_weights(self):
        text = self.run_alone("custom_loop", "20")
        self.assertIn("1.000 2.000 3.000 4.000 5.000 6.000 7.000 8.000 after "
                      "4000 steps on 200000 examples\n", text)

    def test_loss_falls(self):
        text = self.run_cluster("custom_loop", "3")
        first, last = self.assertFinds(
            r"epoch 1: loss (\S+)\n(?:.*\n)*.*epoch 3: loss (\S+)\n", text)
        self.assertGreater(first, last)
        self.assertGreater(last, 0)


class LinearRegression(ExampleTest):

    def check(self, text):
        a, b, c = self.assertFinds(r"y = (\S+) a (\S+) b (\S+)\n", text)
        self.assertAlmostEqual(a, 3, delta=0.05)
        self.assertAlmostEqual(b, -2, delta=0.05)
        self.assertAlmostEqual(c, 1, delta=0.05)
        # Early stopping has ended it.
        epochs, = self.assertFinds(r"trained (\d+) epochs", text)
        self.assertLess(epochs, 50)

    def test_alone(self):
        self.check(self.run_alone("linear_regression"))

    def test_cluster(self):
        self.check(self.run_cluster("linear_regression"))


@HAVE_IMAGES
class FashionMnist(ExampleTest):

    def test_one_epoch(self):
        text = self.run_cluster("fashion_mnist", "1")
        accuracy, steps = self.assertFinds(
            r"test accuracy (\S+) after (\d+) steps\n", text)
        self.assertGreater(accuracy, 0.78)
        self.assertEqual(steps, 469)
        run = self.dir / "runs" / "fashion_mnist"
        self.assertTrue(any(run.glob("checkpoints/ckpt-*/manifest.json")))
        self.assertTrue(list(run.glob("tensorboard/train/events.out.*")))


class WideDeep(ExampleTest):

    def test_few_steps(self):
        text = self.run_cluster("wide_deep", "300")
        ours, best = self.assertFinds(r"AUC (\S+); .* (\S+)\n", text)
        self.assertGreater(ours, 0.6)
        self.assertLess(ours, best)


@HAVE_IMAGES
class Demo(ExampleTest):

    def test_says_what_it_did(self):
        text = self.run_command(ROOT / "tools" / "demo", BIN)
        self.assertRegex(text, r"demo: killed worker/\d \(pid \d+\)")
        accuracy, = self.assertFinds(r"demo: test accuracy +(\S+) ", text)
        self.assertGreaterEqual(accuracy, 0.87)


if __name__ == "__main__":
    unittest.main()
