"""Every random state of a learner, however deeply nested, comes from one seed."""

from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn.learners.weighting import MAX_SEED, seed_all


def test_a_single_random_state_gets_the_seed_itself():
    forest = RandomForestClassifier(random_state=99)
    seed_all(forest, 5)
    assert forest.random_state == 5


def test_several_random_states_get_different_numbers_that_follow_from_the_seed():
    def seeded(seed: int) -> tuple[int, int]:
        bag = BaggingClassifier(DecisionTreeClassifier())
        seed_all(bag, seed)
        return bag.random_state, bag.estimator.random_state

    assert seeded(5) == seeded(5)
    assert seeded(5) != seeded(6)
    outer, inner = seeded(5)
    assert outer != inner
    assert 0 <= min(outer, inner) <= max(outer, inner) < MAX_SEED


def test_a_learner_without_chance_is_left_alone():
    learner = GaussianNB()
    before = learner.get_params()
    seed_all(learner, 5)
    assert learner.get_params() == before
