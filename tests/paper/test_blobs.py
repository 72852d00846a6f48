"""The synthetic families."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import NearestCentroid

from assistlearn.errors import SettingsError
from paper.datasets import FAMILIES, BlobFamily, blobs

SHAPES = {"fig1": (9, 2, 2, 1), "fig3a": (10, 8, 4, 2), "fig4a": (10, 200, 2, 100), "fig6a": (20, 20, 20, 1)}


@pytest.mark.parametrize(("family", "shape"), SHAPES.items())
def test_each_family_has_the_papers_shape(family, shape):
    data = blobs(family)
    n_classes, n_features, n_agents, each = shape
    assert data.features.shape == (1000, n_features)
    assert set(data.labels) == set(range(n_classes))
    assert [len(names) for names in data.agents.values()] == [each] * n_agents
    assert sorted(name for names in data.agents.values() for name in names) == sorted(data.feature_names)


def test_the_test_part_has_100_000_samples_unless_told_otherwise():
    assert len(blobs("fig1", "test")) == 100_000
    assert len(blobs("fig1", "test", n_samples=77)) == 77


@pytest.mark.parametrize("family", SHAPES)
def test_both_parts_have_the_same_centres_and_split_but_no_sample_in_common(family):
    train = blobs(family, n_samples=4000, random_state=3)
    test = blobs(family, "test", n_samples=4000, random_state=3)
    telling = [place for place, name in enumerate(train.feature_names) if name.startswith("x")]
    for label in np.unique(train.labels):
        means = [part.features[part.labels == label][:, telling].mean(axis=0) for part in (train, test)]
        spread = np.sqrt(2 / (4000 // len(train.class_names)))
        np.testing.assert_allclose(means[0], means[1], atol=6 * spread)
    assert dict(train.agents) == dict(test.agents)
    assert not set(train.ids) & set(test.ids)
    assert not set(map(bytes, train.features)) & set(map(bytes, test.features))


def test_a_blob_is_round_and_as_wide_as_asked():
    data = blobs(replace(FAMILIES["fig3a"], spread=2.5), n_samples=50_000)
    one = data.features[data.labels == 4]
    np.testing.assert_allclose(np.cov(one.T), 2.5**2 * np.eye(8), atol=0.5)


def test_classes_are_of_equal_size():
    counts = np.bincount(blobs("fig1").labels)
    assert counts.max() - counts.min() <= 1


def test_noise_tells_nothing_and_the_telling_features_do():
    data = blobs("fig4a", n_samples=5000)
    f, _ = f_classif(data.features, data.labels)
    assert f[:5].min() > 100 * np.median(f[5:])
    assert 0.8 < np.mean(f[5:]) < 1.2  # as by chance


def test_mixtures_are_made_of_the_telling_features():
    family = replace(FAMILIES["fig4a"], redundant="mixtures")
    train, test = blobs(family), blobs(family, "test", n_samples=500)
    model = LinearRegression().fit(train.features[:, :5], train.features[:, 5:])
    np.testing.assert_allclose(model.predict(test.features[:, :5]), test.features[:, 5:], atol=1e-8)


def test_the_redundant_features_are_dealt_out_at_random():
    splits = {blobs("fig4a", n_samples=20, random_state=seed).agents["A"] for seed in range(10)}
    assert len(splits) == 10
    telling = [sum(name.startswith("x") for name in names) for names in splits]
    assert 0 < sum(telling) < 50


def test_all_features_together_solve_what_one_agents_cannot():
    train, test = blobs("fig6a"), blobs("fig6a", "test", n_samples=5000)
    pooled = NearestCentroid().fit(train.features, train.labels).score(test.features, test.labels)
    own = train.columns("A")
    alone = NearestCentroid().fit(train.features[:, own], train.labels).score(test.features[:, own], test.labels)
    assert pooled > 0.99
    assert alone < 0.6


def test_the_seed_decides_everything():
    one, same, other = blobs("fig4a"), blobs("fig4a"), blobs("fig4a", random_state=1)
    np.testing.assert_array_equal(one.features, same.features)
    assert dict(one.agents) == dict(same.agents)
    assert not (one.features == other.features).any()
    assert one.agents["A"] != other.agents["A"]


def test_a_family_of_ones_own_may_have_many_agents():
    data = blobs(BlobFamily("many", n_classes=2, n_features=60, n_agents=30), n_samples=10)
    assert list(data.agents)[:2] == ["A", "B"]
    assert list(data.agents)[25:28] == ["Z", "AA", "AB"]


@pytest.mark.parametrize(
    ("family", "part", "message"),
    [
        ("fig9", "train", r"no family of blobs 'fig9'.*fig1, fig3a, fig4a, fig6a"),
        ("fig1", "valid", "'train' or 'test', not 'valid'"),
        (BlobFamily("odd", n_classes=2, n_features=3, n_agents=2), "train", "3 features cannot be split equally"),
    ],
)
def test_impossible_wishes_are_refused(family, part, message):
    with pytest.raises(SettingsError, match=message):
        blobs(family, part)
