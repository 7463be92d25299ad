"""Make the files of resources/samples: a digits dataset, and one trained network in three formats.

    python packaging/samples/make_samples.py train [--out resources/samples] [--data FOLDER]
    python packaging/samples/make_samples.py pack  [--out resources/samples]

``train`` needs NumPy, PyTorch and safetensors: it draws the digits (glyphs.py), trains the network
called ``digits`` on 16,000 of them, and writes the 1,000 held-back ones, a checkpoint and a
safetensors file, both as PyTorch writes them. ``--data`` keeps the training images as well.
``pack`` needs Ruda: it writes the same tensors as Rudapack, loads all three files into Ruda's own
``digits`` and prints the share of held-back digits that each gets right.

All three files keep PyTorch's names, layout and the ``module.`` of DataParallel, so that loading
any of them takes one rename and one adapter. Seeds are fixed; the drawings are the same anywhere,
the weights on one version of PyTorch and one kind of processor.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "core"))

TRAIN_COUNT, TRAIN_SEED = 16_000, 20_261_129
TEST_COUNT, TEST_SEED = 1_000, 42
TORCH_SEED = 7
EPOCHS, BATCH_SIZE, LEARNING_RATE = 8, 64, 3e-3
LEAST_ACCURACY = 0.97
CHECKPOINT, SAFETENSORS, RUDAPACK = (
    "digits-checkpoint.pt",
    "digits.safetensors",
    "digits.bpk",
)


def train(out: Path, data: Path | None) -> None:
    """Draw, train, and write what a PyTorch program would leave behind."""
    import torch
    from glyphs import draw_digits
    from safetensors.torch import save_file

    from ruda.data import write_idx

    train_images, train_labels = draw_digits(TRAIN_COUNT, TRAIN_SEED)
    test_images, test_labels = draw_digits(TEST_COUNT, TEST_SEED)
    folder = out / "digits"
    folder.mkdir(parents=True, exist_ok=True)
    write_idx(folder / "test-images-idx3-ubyte.gz", test_images)
    write_idx(folder / "test-labels-idx1-ubyte.gz", test_labels)
    if data is not None:
        data.mkdir(parents=True, exist_ok=True)
        write_idx(data / "train-images-idx3-ubyte.gz", train_images)
        write_idx(data / "train-labels-idx1-ubyte.gz", train_labels)

    torch.manual_seed(TORCH_SEED)
    torch.set_num_threads(1)  # sums in one order, so that a second run gives the same weights
    torch.use_deterministic_algorithms(True)
    model = torch.nn.DataParallel(_torch_digits(torch))
    optimizer = _fit(torch, model, _pixels(torch, train_images), torch.from_numpy(train_labels))
    accuracy = _torch_accuracy(torch, model, _pixels(torch, test_images), test_labels)
    print(f"PyTorch: {accuracy:.2%} of {TEST_COUNT} held-back digits")

    state = model.state_dict()
    checkpoint = {
        "epoch": EPOCHS,
        "accuracy": accuracy,
        "optimizer": {"name": "Adam", "param_groups": optimizer.state_dict()["param_groups"]},
        "state_dict": state,
    }
    torch.save(checkpoint, out / CHECKPOINT)
    save_file(state, out / SAFETENSORS, metadata={"format": "pt"})
    (out / SAFETENSORS).chmod(0o644)  # it was written readable by its owner only


def pack(out: Path) -> None:
    """Write the Rudapack file, and run all three files through Ruda's own network."""
    from ruda.store import open_store, save

    with open_store(out / SAFETENSORS) as index:
        save(index, out / RUDAPACK, metadata={"made_by": "make_samples.py"}, overwrite=True)
    for name in (CHECKPOINT, SAFETENSORS, RUDAPACK):
        accuracy = _ruda_accuracy(out / name, out / "digits")
        print(f"{name}: {accuracy:.2%} of {TEST_COUNT} held-back digits")
        if accuracy < LEAST_ACCURACY:
            raise SystemExit(f"{name} is right on less than {LEAST_ACCURACY:.0%}")


def _torch_digits(torch):
    nn, functional = torch.nn, torch.nn.functional

    class Digits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, 8, 3)
            self.norm1 = nn.BatchNorm2d(8)
            self.conv2 = nn.Conv2d(8, 16, 3)
            self.norm2 = nn.BatchNorm2d(16)
            self.fc1 = nn.Linear(400, 32)
            self.fc2 = nn.Linear(32, 10)

        def forward(self, x):
            x = functional.max_pool2d(functional.relu(self.norm1(self.conv1(x))), 2)
            x = functional.max_pool2d(functional.relu(self.norm2(self.conv2(x))), 2)
            return self.fc2(functional.relu(self.fc1(x.flatten(1))))

    return Digits()


def _fit(torch, model, images, labels):
    steps = EPOCHS * -(-len(images) // BATCH_SIZE)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=steps)
    loss_of = torch.nn.CrossEntropyLoss()
    for epoch in range(EPOCHS):
        model.train()
        total = 0.0
        for at in torch.randperm(len(images)).split(BATCH_SIZE):
            optimizer.zero_grad()
            loss = loss_of(model(images[at]), labels[at].long())
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(at)
        print(f"epoch {epoch + 1}: loss {total / len(images):.4f}")
    return optimizer


def _pixels(torch, images):
    return torch.from_numpy(images).float().div(255).unsqueeze(1)


def _torch_accuracy(torch, model, images, labels) -> float:
    model.eval()
    with torch.no_grad():
        return float((model(images).argmax(1).numpy() == labels).mean())


def _ruda_accuracy(weights: Path, digits: Path) -> float:
    from ruda.data import DataLoader, StackBatcher, open_dataset
    from ruda.models import get
    from ruda.store import KeyRemapper, PyTorchToRuda, Recipe, apply, open_store

    architecture = get("digits")
    model = architecture.build()
    rename = KeyRemapper.of((r"^(state_dict\.)?module\.", ""))
    with open_store(weights) as index:
        result = apply(index, model, recipe=Recipe(remap=rename, adapt=(PyTorchToRuda(),)))
    print(result)
    right, dataset = 0, open_dataset(digits)
    for batch in DataLoader(dataset, StackBatcher(), batch_size=100):
        guess = model(architecture.input.prepare(batch["image"].numpy())).argmax(1)
        right += int((guess.numpy() == batch["label"].numpy()).sum())
    return right / len(dataset)


def main() -> None:
    """Run the part that the command line names."""
    parser = argparse.ArgumentParser(description="Make the files of resources/samples.")
    parts = parser.add_subparsers(dest="part", required=True)
    commands: dict[str, Callable[[argparse.Namespace], None]] = {
        "train": lambda chosen: train(chosen.out, chosen.data),
        "pack": lambda chosen: pack(chosen.out),
    }
    for name in commands:
        part = parts.add_parser(name)
        part.add_argument("--out", type=Path, default=PROJECT / "resources" / "samples")
    parts.choices["train"].add_argument("--data", type=Path, help="keep the training images here")
    chosen = parser.parse_args()
    commands[chosen.part](chosen)


if __name__ == "__main__":
    main()
