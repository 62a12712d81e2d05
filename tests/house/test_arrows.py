"""The house: who may know whom, and what a device has to carry."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_nobody_knows_whom_they_must_not() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert f"{len(contracts['contracts'])} kept, 0 broken" in done.stdout
    assert [one["name"] for one in contracts["contracts"] if "ignore_imports" in one] == []


def test_a_report_set_loads_its_models_only_when_they_are_asked_for() -> None:
    code = "import sys, deniably.workbench.files.folder; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert "deniably.workbench.report_set" in loaded
    assert not {"scipy", "pandas", "deniably.workbench.models.regress"} & set(loaded)


def test_the_store_leaves_statements_to_the_tables() -> None:
    text = (ROOT / "server/deniably_server/storage/store.py").read_text(encoding="utf-8")

    assert "with self._transaction() as database" in text
    assert re.findall(r"\b(?:SELECT|INSERT|UPDATE|DELETE)\b", text) == []


@pytest.mark.parametrize("module", ["deniably_client", "deniably_client.device"])
def test_a_device_needs_neither_numpy_nor_a_server(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert not {"numpy", "flask", "yaml", "jsonschema", "click"} & set(loaded)


def test_the_package_of_the_web_files_loads_no_client() -> None:
    code = "import sys, deniably_client; print('deniably_client.device' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("folder", ["client", "server", "shared"])
def test_every_folder_states_its_law(folder: str) -> None:
    assert len((ROOT / folder / "README.md").read_text().splitlines()) <= 30


# Repeats a survey with made-up people; deals reports out anew; draws planned surveys. None of these
# protects anybody.
SIMULATIONS = {"clusters.py", "independence.py", "reidentification.py", "slope_power.py"}


def test_no_shipped_code_draws_from_a_generator_that_is_not_the_systems() -> None:
    """Randomness is ``secrets``, ``os.urandom`` and ``crypto.getRandomValues``, nothing else."""
    shipped = [
        path
        for folder in ("shared/deniably", "client/deniably_client", "server/deniably_server")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".js", ".html")
    ]
    assert len(shipped) > 20

    for path in shipped:
        if path.name in SIMULATIONS:
            continue
        text = path.read_text(encoding="utf-8")
        for banned in (
            "numpy.random",
            "np.random",
            "import random\n",
            "Math.random",
            "random.random",
        ):
            assert banned not in text, f"{path.name} uses {banned}"
