"""tests/package/checks.py: conditions that a test of packages needs, and commands that must succeed."""
import subprocess
import sys


def must(condition, sentence):
    """Ends the test with the sentence unless the condition holds."""
    if not condition:
        sys.exit(sentence)


def run(*words, **options):
    """Runs a command without input and returns what it printed. Ends the test if it fails."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                          **{"stdin": subprocess.DEVNULL, **options})
    must(done.returncode == 0, f"{' '.join(map(str, words))}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout
