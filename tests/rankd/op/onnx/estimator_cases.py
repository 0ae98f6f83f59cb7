"""The models of estimators.py: estimators of scikit-learn and objectives of CatBoost with their options.

A case that the installed version of a library does not have is left out."""

from __future__ import annotations

import importlib
from typing import Any, Callable, NamedTuple

import numpy as np

Target = Callable[[np.ndarray], np.ndarray]


class Model(NamedTuple):
    """A model to train, how its inputs are declared, and how it is converted."""

    group: str
    name: str
    made: Callable[[], Any]
    target: Target
    # one table of floats or of doubles; columns, of an array or of a frame of pandas; or types that skl2onnx guesses
    inputs: str = "floats"
    nulls: bool = False  # in the rows of the training
    options: dict[str, Any] = {}  # of the converter
    opset: Any = None
    fit: Callable[[Any, Any, np.ndarray], Any] | None = None
    own: str = ""  # the method of the library that makes the scores
    without: tuple[str, ...] = ()  # operators that the converter must not use
    optimized: bool = False  # the file is the one that ONNX Runtime saves


# Targets


def number(rows: np.ndarray) -> np.ndarray:
    price, age, fresh, brand, rating = np.nan_to_num(rows, nan=3.0).T
    return np.log1p(price) + 0.02 * age * fresh + np.where(brand % 3 == 1, 1.5, 0.0) + 0.3 * rating


def positive(rows: np.ndarray) -> np.ndarray:
    return np.round(np.exp(0.5 * number(rows)) / 3)


def above_zero(rows: np.ndarray) -> np.ndarray:
    return np.exp(0.3 * number(rows))


def yes_or_no(rows: np.ndarray) -> np.ndarray:
    return (number(rows) > 2.7).astype(int)


def share(rows: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(2.7 - number(rows)))


def classes(count: int) -> Target:
    def which(rows: np.ndarray) -> np.ndarray:
        found = number(rows)
        return np.digitize(found, np.quantile(found, np.arange(1, count) / count))
    return which


three = classes(3)


def words(target: Target) -> Target:
    return lambda rows: np.array(["no", "maybe", "yes", "sure", "never"])[target(rows).astype(int)]


def shifted(rows: np.ndarray) -> np.ndarray:
    return three(rows) * 10 - 5


def two(rows: np.ndarray) -> np.ndarray:
    return np.column_stack([number(rows), positive(rows)])


def two_flags(rows: np.ndarray) -> np.ndarray:
    return np.column_stack([yes_or_no(rows), positive(rows) > 1]).astype(int)


# scikit-learn


def find(path: str) -> Any:
    """`linear_model.Ridge` and so on; LookupError if this version has no such name."""
    folder, name = path.rsplit(".", 1)
    return getattr(importlib.import_module("sklearn." + folder), name)


def build(path: str, *given: Any, **options: Any) -> Any:
    return find(path)(*given, **options)


def then(*steps: Any) -> Any:
    return build("pipeline.make_pipeline", *steps)


def scaled(*steps: Any) -> Any:
    return then(build("preprocessing.StandardScaler"), *steps)


def table(*parts: Any, **options: Any) -> Any:
    return build("compose.ColumnTransformer", list(parts), **options)


SEED = {"random_state": 3}
TREE = {"max_depth": 4, **SEED}
FOREST = {"n_estimators": 5, **TREE}
BOOSTING = {"n_estimators": 6, "max_depth": 3, **SEED}
HISTOGRAMS = {"max_iter": 6, "max_depth": 4, **SEED}

SIMPLE_REGRESSORS = [
    "LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "LassoLars", "LassoLarsCV", "LassoLarsIC", "ElasticNet",
    "ElasticNetCV", "Lars", "LarsCV", "BayesianRidge", "ARDRegression", "HuberRegressor", "TheilSenRegressor",
    "RANSACRegressor", "OrthogonalMatchingPursuit", "PassiveAggressiveRegressor", "SGDRegressor", "QuantileRegressor",
    "TweedieRegressor", "PoissonRegressor", "GammaRegressor"]
OPSETS = [{"": 9, "ai.onnx.ml": 1}, 10, 11, 12, {"": 13, "ai.onnx.ml": 2}, 15, 17, {"": 18, "ai.onnx.ml": 3}, 19, 21, 22]
SPELLINGS = [("Scaler",), ("LinearClassifier",), ("LinearRegressor",), ("Normalizer",), ("Imputer",),
             ("ArrayFeatureExtractor",), ("Scaler", "LinearClassifier", "LinearRegressor", "Normalizer")]
ZIPMAPS: list[tuple[str, dict[str, Any]]] = [
    ("no zipmap", {"zipmap": False}), ("zipmap columns", {"zipmap": "columns"}), ("raw scores", {"raw_scores": True}),
    ("raw scores, no zipmap", {"raw_scores": True, "zipmap": False}), ("no labels", {"nocl": True, "zipmap": False}),
    ("output class labels", {"output_class_labels": True, "zipmap": False})]


def linear_cases() -> list[Model]:
    def of(name: str, path: str, target: Target, **options: Any) -> Model:
        return Model("linear regression", name, lambda: scaled(build(path, **options)), target)
    out = []
    for name in SIMPLE_REGRESSORS:
        target = above_zero if name in ("GammaRegressor", "TweedieRegressor") else number
        target = positive if name == "PoissonRegressor" else target
        path = f"linear_model.{name}"
        out.append(Model("linear regression", name, lambda path=path: scaled(build(path)), target))
    for power in (1, 1.5, 2, 3):
        out.append(of(f"Tweedie {power}", "linear_model.TweedieRegressor", above_zero, power=power))
    out += [of("Tweedie 0, link log", "linear_model.TweedieRegressor", above_zero, power=0, link="log"),
            of("Ridge without intercept", "linear_model.Ridge", number, fit_intercept=False),
            of("LinearSVR", "svm.LinearSVR", number, max_iter=10_000, random_state=3),
            of("PLSRegression", "cross_decomposition.PLSRegression", number),
            of("PLSRegression, two targets", "cross_decomposition.PLSRegression", two),
            of("LinearRegression, two targets", "linear_model.LinearRegression", two),
            of("Ridge, two targets", "linear_model.Ridge", two),
            of("MultiTaskLasso", "linear_model.MultiTaskLasso", two),
            of("MultiTaskElasticNet", "linear_model.MultiTaskElasticNet", two)]
    for loss in ("huber", "epsilon_insensitive", "squared_epsilon_insensitive"):
        out.append(of(f"SGDRegressor {loss}", "linear_model.SGDRegressor", number, loss=loss, random_state=3))
    return out


def linear_classifiers() -> list[Model]:
    group = "linear classification"
    out = []
    for path, options in [
            ("linear_model.LogisticRegression", {}), ("linear_model.LogisticRegressionCV", {"cv": 3, "Cs": 3}),
            ("linear_model.LogisticRegression", {"fit_intercept": False}),
            ("linear_model.LogisticRegression", {"multi_class": "ovr"}),
            ("linear_model.LogisticRegression", {"multi_class": "multinomial"}),
            ("linear_model.LogisticRegression", {"solver": "saga", "penalty": "l1", "max_iter": 300}),
            *[("linear_model.SGDClassifier", {"loss": loss, "random_state": 3})
              for loss in ("hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "huber")],
            ("linear_model.Perceptron", SEED), ("linear_model.PassiveAggressiveClassifier", SEED),
            ("linear_model.RidgeClassifier", {}), ("linear_model.RidgeClassifierCV", {}),
            ("svm.LinearSVC", SEED), ("discriminant_analysis.LinearDiscriminantAnalysis", {}),
            ("discriminant_analysis.QuadraticDiscriminantAnalysis", {})]:
        name = path.rsplit(".", 1)[1]
        said = "".join(f", {key} {value}" for key, value in options.items() if key != "random_state")
        for kind, target in (("binary", yes_or_no), ("three classes", three), ("words", words(three))):
            if kind == "words" and name not in ("LogisticRegression", "SGDClassifier", "LinearSVC"):
                continue

            def whole(path: str = path, options: dict[str, Any] = options) -> Any:
                learner = build(path, **options)
                return learner if path == "svm.LinearSVC" else scaled(learner)  # skl2onnx takes no pipeline of it
            out.append(Model(group, f"{name}{said}, {kind}", whole, target))
    return out


def trees_of(inputs: str) -> list[Model]:
    out = []
    suffix = "" if inputs == "floats" else f", {inputs}"

    def add(group: str, name: str, path: str, target: Target, nulls: bool = False, **options: Any) -> None:
        out.append(Model(group, name + suffix, lambda: build(path, **options), target, inputs, nulls))
    for path, options in [("tree.DecisionTree", TREE), ("tree.ExtraTree", TREE), ("ensemble.RandomForest", FOREST),
                          ("ensemble.ExtraTrees", FOREST)]:
        name = path.rsplit(".", 1)[1]
        for criterion in ("squared_error", "absolute_error", "friedman_mse", "poisson"):
            add("trees and forests", f"{name}Regressor {criterion}", f"{path}Regressor", positive, criterion=criterion,
                **options)
        add("trees and forests", f"{name}Regressor, two targets", f"{path}Regressor", two, **options)
        add("trees and forests", f"{name}Regressor, nulls", f"{path}Regressor", number, True, **options)
        for kind, target in (("binary", yes_or_no), ("three classes", three), ("ten classes", classes(10)),
                             ("words", words(three)), ("shifted labels", shifted)):
            add("trees and forests", f"{name}Classifier, {kind}", f"{path}Classifier", target, **options)
        out.append(Model("trees and forests", f"{name}Classifier, two labels{suffix}",
                         lambda path=path, options=options: build(f"{path}Classifier", **options), two_flags, inputs,
                         options={"zipmap": False}))
        add("trees and forests", f"{name}Classifier, balanced", f"{path}Classifier", three, class_weight="balanced",
            **options)
    add("trees and forests", "RandomForestRegressor, deep", "ensemble.RandomForestRegressor", number, n_estimators=3,
        random_state=3)
    add("trees and forests", "DecisionTreeRegressor, one leaf", "tree.DecisionTreeRegressor", number, max_depth=1,
        min_samples_leaf=1000)
    add("trees and forests", "DecisionTreeClassifier, one leaf", "tree.DecisionTreeClassifier", three, max_depth=1,
        min_samples_leaf=1000)
    for loss in ("squared_error", "absolute_error", "huber", "quantile"):
        add("GradientBoosting", f"GradientBoostingRegressor {loss}", "ensemble.GradientBoostingRegressor", number, loss=loss,
            **BOOSTING)
    add("GradientBoosting", "GradientBoostingRegressor, init zero", "ensemble.GradientBoostingRegressor", number,
        init="zero", **BOOSTING)
    for name, more in (("log_loss", {}), ("exponential", {"loss": "exponential"}), ("init zero", {"init": "zero"}),
                       ("subsample", {"subsample": 0.5})):
        for kind, target in (("binary", yes_or_no), ("three classes", three), ("words", words(yes_or_no))):
            if name != "exponential" or target is not three:
                add("GradientBoosting", f"GradientBoostingClassifier {name}, {kind}", "ensemble.GradientBoostingClassifier",
                    target, **more, **BOOSTING)
    for loss, target in (("squared_error", number), ("absolute_error", number), ("poisson", positive),
                         ("gamma", above_zero), ("quantile", number)):
        more = {"quantile": 0.7} if loss == "quantile" else {}
        add("HistGradientBoosting", f"HistGradientBoostingRegressor {loss}", "ensemble.HistGradientBoostingRegressor", target,
            True, loss=loss, **more, **HISTOGRAMS)
    add("HistGradientBoosting", "HistGradientBoostingRegressor, no nulls", "ensemble.HistGradientBoostingRegressor", number,
        False, **HISTOGRAMS)
    add("HistGradientBoosting", "HistGradientBoostingRegressor, early stop", "ensemble.HistGradientBoostingRegressor", number,
        True, early_stopping=True, max_iter=30, n_iter_no_change=3, random_state=3)
    add("HistGradientBoosting", "HistGradientBoostingRegressor, categories", "ensemble.HistGradientBoostingRegressor",
        number, False, categorical_features=[2], **HISTOGRAMS)
    for kind, target in (("binary", yes_or_no), ("three classes", three), ("ten classes", classes(10)),
                         ("words", words(three))):
        add("HistGradientBoosting", f"HistGradientBoostingClassifier, {kind}", "ensemble.HistGradientBoostingClassifier",
            target, True, **HISTOGRAMS)
    return out


def networks() -> list[Model]:
    out = []
    for activation in ("identity", "logistic", "tanh", "relu"):
        for kind, target in (("number", number), ("two targets", two), ("binary", yes_or_no), ("three classes", three),
                             ("two labels", two_flags)):
            path = f"neural_network.MLP{'Regressor' if kind in ('number', 'two targets') else 'Classifier'}"
            out.append(Model("networks", f"{path.rsplit('.', 1)[1]} {activation}, {kind}", lambda path=path, how=activation:
                             scaled(build(path, (6, 4), activation=how, max_iter=100, **SEED)), target))
    out.append(Model("networks", "MLPRegressor, doubles", lambda: scaled(
        build("neural_network.MLPRegressor", (5,), max_iter=100, **SEED)), number, "doubles"))
    return out


def wrapped() -> list[Model]:
    def logistic() -> Any:
        return build("linear_model.LogisticRegression")

    def forest() -> Any:
        return build("ensemble.RandomForestClassifier", **FOREST)

    def ridge() -> Any:
        return build("linear_model.Ridge")

    def tree() -> Any:
        return build("tree.DecisionTreeRegressor", **TREE)
    out: list[Model] = []

    def add(group: str, name: str, made: Callable[[], Any], *targets: Target) -> None:
        names = {yes_or_no: ", binary", three: ", three classes", two: ", two targets", two_flags: ", two labels"}
        out.extend(Model(group, name + names.get(each, ""), made, each) for each in targets)
    for method in ("sigmoid", "isotonic"):
        for name, base in (("logistic", logistic), ("forest", forest),
                           ("boosting", lambda: build("ensemble.GradientBoostingClassifier", **BOOSTING)),
                           ("LinearSVC", lambda: build("svm.LinearSVC", **SEED)),
                           ("GaussianNB", lambda: build("naive_bayes.GaussianNB"))):
            add("calibration", f"CalibratedClassifierCV {method}, {name}", lambda method=method, base=base: build(
                "calibration.CalibratedClassifierCV", base(), method=method, cv=2), yes_or_no, three)
        add("calibration", f"CalibratedClassifierCV {method}, no ensemble", lambda method=method: build(
            "calibration.CalibratedClassifierCV", logistic(), method=method, cv=2, ensemble=False), yes_or_no, three)
    add("calibration", "CalibratedClassifierCV, scaled", lambda: scaled(build(
        "calibration.CalibratedClassifierCV", logistic(), cv=2)), yes_or_no, three)
    several = "several outputs"
    add(several, "MultiOutputRegressor", lambda: build("multioutput.MultiOutputRegressor", ridge()), two)
    add(several, "MultiOutputRegressor of trees", lambda: build("multioutput.MultiOutputRegressor", tree()), two)
    add(several, "MultiOutputRegressor of boosting", lambda: build("multioutput.MultiOutputRegressor", build(
        "ensemble.GradientBoostingRegressor", **BOOSTING)), two)
    add(several, "MultiOutputRegressor of histograms", lambda: build("multioutput.MultiOutputRegressor", build(
        "ensemble.HistGradientBoostingRegressor", **HISTOGRAMS)), two)
    add(several, "MultiOutputClassifier", lambda: build("multioutput.MultiOutputClassifier", logistic()), two_flags)
    add(several, "MultiOutputClassifier of forests", lambda: build("multioutput.MultiOutputClassifier", forest()), two_flags)
    add(several, "RegressorChain", lambda: build("multioutput.RegressorChain", ridge()), two)
    add(several, "OneVsRestClassifier", lambda: build("multiclass.OneVsRestClassifier", logistic()), yes_or_no, three,
        two_flags)
    add(several, "OneVsRestClassifier of forests", lambda: build("multiclass.OneVsRestClassifier", forest()), yes_or_no,
        three, two_flags)
    add(several, "OneVsOneClassifier", lambda: build("multiclass.OneVsOneClassifier", logistic()), three)
    ensembles = "voting, stacking, bagging"
    add(ensembles, "VotingRegressor", lambda: build("ensemble.VotingRegressor", [("a", ridge()), ("b", tree())]), number)
    add(ensembles, "VotingRegressor, weights", lambda: build(
        "ensemble.VotingRegressor", [("a", ridge()), ("b", tree())], weights=[0.3, 2]), number)
    for kind in ("soft", "hard"):
        add(ensembles, f"VotingClassifier {kind}", lambda kind=kind: build(
            "ensemble.VotingClassifier", [("a", logistic()), ("b", forest())], voting=kind), yes_or_no, three)
    add(ensembles, "VotingClassifier soft, weights", lambda: build(
        "ensemble.VotingClassifier", [("a", logistic()), ("b", forest())], voting="soft", weights=[1, 3]), yes_or_no, three)
    for through in (False, True):
        said = ", passthrough" if through else ""
        add(ensembles, f"StackingRegressor{said}", lambda through=through: build(
            "ensemble.StackingRegressor", [("a", ridge()), ("b", tree())], passthrough=through), number)
        add(ensembles, f"StackingClassifier{said}", lambda through=through: build(
            "ensemble.StackingClassifier", [("a", logistic()), ("b", forest())], passthrough=through), yes_or_no, three)
    for name, base in (("trees", tree), ("ridge", ridge)):
        add(ensembles, f"BaggingRegressor of {name}", lambda base=base: build(
            "ensemble.BaggingRegressor", base(), n_estimators=4, **SEED), number)
    add(ensembles, "BaggingRegressor, fewer features", lambda: build(
        "ensemble.BaggingRegressor", tree(), n_estimators=4, max_features=3, **SEED), number)
    for name, base in (("trees", lambda: build("tree.DecisionTreeClassifier", **TREE)), ("logistic", logistic)):
        add(ensembles, f"BaggingClassifier of {name}", lambda base=base: build(
            "ensemble.BaggingClassifier", base(), n_estimators=4, **SEED), yes_or_no, three)
    add(ensembles, "AdaBoostRegressor", lambda: build("ensemble.AdaBoostRegressor", n_estimators=4, **SEED), number)
    add(ensembles, "AdaBoostClassifier", lambda: build("ensemble.AdaBoostClassifier", n_estimators=4, **SEED), yes_or_no,
        three)
    add(ensembles, "IsolationForest", lambda: build("ensemble.IsolationForest", n_estimators=4, **SEED), number)
    search = "searches and targets"
    add(search, "GridSearchCV", lambda: build("model_selection.GridSearchCV", ridge(), {"alpha": [0.1, 1]}, cv=2), number)
    add(search, "GridSearchCV of forests", lambda: build(
        "model_selection.GridSearchCV", forest(), {"max_depth": [2, 3]}, cv=2), yes_or_no, three)
    add(search, "TunedThresholdClassifierCV", lambda: build(
        "model_selection.TunedThresholdClassifierCV", logistic(), cv=2), yes_or_no)
    add(search, "TransformedTargetRegressor log1p", lambda: build(
        "compose.TransformedTargetRegressor", ridge(), func=np.log1p, inverse_func=np.expm1), positive)
    add(search, "TransformedTargetRegressor scaler", lambda: build(
        "compose.TransformedTargetRegressor", ridge(), transformer=build("preprocessing.StandardScaler")), number)
    others = "neighbours, kernels, Bayes"
    for name in ("BernoulliNB", "GaussianNB"):
        add(others, name, lambda name=name: build(f"naive_bayes.{name}"), yes_or_no, three)
    for name in ("MultinomialNB", "ComplementNB"):
        add(others, name, lambda name=name: then(build("preprocessing.MinMaxScaler"), build(f"naive_bayes.{name}")),
            yes_or_no, three)
    add(others, "SVR", lambda: scaled(build("svm.SVR", max_iter=200)), number)
    add(others, "SVC", lambda: scaled(build("svm.SVC", probability=True, max_iter=200, **SEED)), yes_or_no, three)
    add(others, "KNeighborsRegressor", lambda: scaled(build("neighbors.KNeighborsRegressor")), number)
    add(others, "KMeans", lambda: scaled(build("cluster.KMeans", 3, n_init=1, **SEED)), number)
    return out


def prepared() -> list[Model]:
    """Ridge after each preprocessor."""
    group = "preprocessing"
    steps: dict[str, Callable[[], Any]] = {}
    for path, options in [
            ("StandardScaler", {"with_mean": False}), ("StandardScaler", {"with_std": False}), ("MinMaxScaler", {}),
            ("MinMaxScaler", {"clip": True}), ("MinMaxScaler", {"feature_range": (-1, 1)}), ("MaxAbsScaler", {}),
            ("RobustScaler", {}), ("RobustScaler", {"with_centering": False}), ("Normalizer", {"norm": "l1"}),
            ("Normalizer", {"norm": "l2"}), ("Normalizer", {"norm": "max"}), ("Binarizer", {"threshold": 1.5}),
            ("KBinsDiscretizer", {"n_bins": 4, "encode": "ordinal"}), ("KBinsDiscretizer", {"n_bins": 4}),
            ("KBinsDiscretizer", {"n_bins": 4, "encode": "onehot-dense", "strategy": "uniform"}),
            ("PolynomialFeatures", {"degree": 2}), ("PolynomialFeatures", {"degree": 3, "interaction_only": True}),
            ("PolynomialFeatures", {"include_bias": False}), ("PowerTransformer", {}),
            ("PowerTransformer", {"standardize": False}), ("QuantileTransformer", {"n_quantiles": 50}),
            ("QuantileTransformer", {"n_quantiles": 50, "output_distribution": "normal"}), ("SplineTransformer", {}),
            ("FunctionTransformer", {})]:
        said = "".join(f", {key} {value}" for key, value in options.items())
        steps[path + said] = lambda path=path, options=options: build(f"preprocessing.{path}", **options)
    for path, options in [("PCA", {"n_components": 3}), ("PCA", {"n_components": 3, "whiten": True}),
                          ("IncrementalPCA", {"n_components": 2}), ("TruncatedSVD", {"n_components": 3})]:
        said = "".join(f", {key} {value}" for key, value in options.items())
        steps[path + said] = lambda path=path, options=options: scaled(build(f"decomposition.{path}", **options))
    steps |= {
        "VarianceThreshold": lambda: build("feature_selection.VarianceThreshold"),
        "SelectKBest": lambda: build("feature_selection.SelectKBest", build_f("feature_selection.f_regression"), k=3),
        "SelectPercentile": lambda: build("feature_selection.SelectPercentile", build_f("feature_selection.f_regression")),
        "SelectFromModel": lambda: build("feature_selection.SelectFromModel", build("linear_model.Ridge")),
        "RFE": lambda: build("feature_selection.RFE", build("linear_model.Ridge"), n_features_to_select=3),
        "FeatureUnion": lambda: build("pipeline.FeatureUnion", [("a", build("preprocessing.StandardScaler")),
                                                                ("b", build("preprocessing.MinMaxScaler"))]),
        "GaussianRandomProjection": lambda: build("random_projection.GaussianRandomProjection", 3, **SEED),
    }
    out = [Model(group, name, lambda made=made: then(made(), build("linear_model.Ridge")), number)
           for name, made in steps.items()]
    out.append(Model(group, "KBinsDiscretizer, forest", lambda: then(
        build("preprocessing.KBinsDiscretizer", 4, encode="ordinal"), build("ensemble.RandomForestRegressor", **FOREST)),
        number))
    for strategy in ("mean", "median", "most_frequent", "constant"):
        for more in ({}, {"add_indicator": True}):
            out.append(Model(group, f"SimpleImputer {strategy}{', indicator' if more else ''}", lambda how=strategy, more=more:
                             then(build("impute.SimpleImputer", strategy=how, **more), build("linear_model.Ridge")),
                             number, nulls=True))
    out.append(Model(group, "KNNImputer", lambda: then(build("impute.KNNImputer"), build("linear_model.Ridge")), number,
                     nulls=True))
    return out


def build_f(path: str) -> Any:
    return find(path)


def pipelines() -> list[Model]:
    """Pipelines of a ColumnTransformer, for arrays and for frames of pandas."""
    group = "pipelines of columns"
    out = []
    numbers, frames = ["price", "rating"], {"price": 0, "age": 1, "fresh": 2, "brand": 3, "rating": 4}
    encoders: dict[str, Callable[[], Any]] = {}
    for name, options in [
            ("OneHotEncoder", {"handle_unknown": "ignore"}), ("OneHotEncoder", {"handle_unknown": "error"}),
            ("OneHotEncoder", {"handle_unknown": "infrequent_if_exist", "min_frequency": 40}),
            ("OneHotEncoder", {"handle_unknown": "ignore", "max_categories": 5}),
            ("OneHotEncoder", {"handle_unknown": "ignore", "drop": "first"}),
            ("OneHotEncoder", {"handle_unknown": "ignore", "sparse_output": False}),
            ("OrdinalEncoder", {}), ("OrdinalEncoder", {"handle_unknown": "use_encoded_value", "unknown_value": -1}),
            ("OrdinalEncoder", {"handle_unknown": "use_encoded_value", "unknown_value": -1, "max_categories": 5}),
            ("TargetEncoder", SEED)]:
        said = "".join(f", {key} {value}" for key, value in options.items() if key != "random_state")
        encoders[name + said] = lambda name=name, options=options: build(f"preprocessing.{name}", **options)
    learners: dict[str, tuple[Callable[[], Any], Target]] = {
        "ridge": (lambda: build("linear_model.Ridge"), number),
        "logistic": (lambda: build("linear_model.LogisticRegression", max_iter=500), yes_or_no),
        "forest": (lambda: build("ensemble.RandomForestClassifier", **FOREST), three),
        "histograms": (lambda: build("ensemble.HistGradientBoostingRegressor", **HISTOGRAMS), number)}
    for encoder, made in encoders.items():
        for learner, (last, target) in learners.items():
            for inputs in ("floats", "frame", "guessed"):
                if learner == "histograms" and "sparse" not in encoder and "One" in encoder:
                    continue  # it takes no sparse tables

                def whole(inputs: str = inputs, made: Any = made, last: Any = last) -> Any:
                    chosen = [[frames[each] for each in numbers], [3]] if inputs == "floats" else [numbers, ["brand"]]
                    steps = then(build("impute.SimpleImputer"), build("preprocessing.StandardScaler"))
                    return then(table(("numbers", steps, chosen[0]), ("encoded", made(), chosen[1])), last())
                out.append(Model(group, f"{encoder}, {learner}, {inputs}", whole, target, inputs))
    for remainder in ("drop", "passthrough"):
        for inputs in ("floats", "columns", "frame", "guessed"):
            chosen: Any = numbers if inputs in ("frame", "guessed") else [0, 4]
            out.append(Model(group, f"remainder {remainder}, {inputs}", lambda chosen=chosen, remainder=remainder: then(
                table(("scaled", build("preprocessing.StandardScaler"), chosen), remainder=remainder),
                build("linear_model.Ridge")), number, inputs))
    return out


def conversions() -> list[Model]:
    """The options of the converter, and the versions of operators."""
    learners: dict[str, tuple[Callable[[], Any], Target, bool]] = {
        "logistic": (lambda: scaled(build("linear_model.LogisticRegression")), yes_or_no, True),
        "logistic of three": (lambda: scaled(build("linear_model.LogisticRegression")), three, True),
        "forest": (lambda: build("ensemble.RandomForestClassifier", **FOREST), yes_or_no, True),
        "forest of three": (lambda: build("ensemble.RandomForestClassifier", **FOREST), three, True),
        "boosting": (lambda: build("ensemble.GradientBoostingClassifier", **BOOSTING), yes_or_no, True),
        "boosting of three": (lambda: build("ensemble.GradientBoostingClassifier", **BOOSTING), three, True),
        "histograms": (lambda: build("ensemble.HistGradientBoostingClassifier", **HISTOGRAMS), yes_or_no, True),
        "histograms of three": (lambda: build("ensemble.HistGradientBoostingClassifier", **HISTOGRAMS), three, True),
        "SVC": (lambda: build("svm.LinearSVC", **SEED), three, True),
        "network": (lambda: scaled(build("neural_network.MLPClassifier", (5,), max_iter=100, **SEED)), yes_or_no, True),
        "network of three": (lambda: scaled(build("neural_network.MLPClassifier", (5,), max_iter=100, **SEED)), three, True),
        "calibrated": (lambda: build("calibration.CalibratedClassifierCV", build("linear_model.LogisticRegression"), cv=2),
                       yes_or_no, True),
        "voting": (lambda: build("ensemble.VotingClassifier", [("a", build("linear_model.LogisticRegression")), (
            "b", build("ensemble.RandomForestClassifier", **FOREST))], voting="soft"), three, True),
        "ridge": (lambda: scaled(build("linear_model.Ridge")), number, False),
        "filled": (lambda: then(build("impute.SimpleImputer"), build("preprocessing.MinMaxScaler", clip=True),
                                build("ensemble.GradientBoostingRegressor", **BOOSTING)), number, False),
        "regression network": (lambda: scaled(build("neural_network.MLPRegressor", (5,), max_iter=100, **SEED)), number,
                               False),
        "polynomial": (lambda: scaled(build("preprocessing.PolynomialFeatures", 2), build("linear_model.Ridge")), number,
                       False)}
    out = []
    for name, (made, target, is_classifier) in learners.items():
        for without in SPELLINGS:
            out.append(Model("other spellings", f"{name}, without {' and '.join(without)}", made, target, without=without))
        out.append(Model("other spellings", f"{name}, saved by ONNX Runtime", made, target, optimized=True))
        for said, options in ZIPMAPS if is_classifier else []:
            out.append(Model("zipmap and other options", f"{name}, {said}", made, target, options=options,
                             own="decision_function" if options.get("raw_scores") else ""))
        for opset in OPSETS:
            said = opset if isinstance(opset, int) else opset[""]
            out.append(Model("versions of operators", f"{name}, opset {said}", made, target, opset=opset))
        out.append(Model("doubles", name, made, target, "doubles"))
        if is_classifier:
            out.append(Model("doubles", f"{name}, no zipmap", made, target, "doubles", options={"zipmap": False}))
    for way in ("std", "div", "div_cast"):
        for inputs in ("floats", "doubles"):
            out.append(Model("other spellings", f"StandardScaler, {way}, {inputs}", learners["ridge"][0], number, inputs,
                             options={find("preprocessing.StandardScaler"): {"div": way}}))
    return out


def exists(case: Model) -> bool:
    try:
        case.made()
    except (AttributeError, TypeError, ImportError):
        return False
    return True


def of_scikit_learn() -> list[Model]:
    out = [*linear_cases(), *linear_classifiers(), *trees_of("floats"), *trees_of("doubles"), *networks(), *wrapped(),
           *prepared(), *pipelines(), *conversions()]
    return [each for each in out if exists(each)]


# CatBoost


def of_catboost() -> list[Model]:
    import catboost
    own = {"depth": 3, "iterations": 6, "random_seed": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    out: list[Model] = []

    def fit(model: Any, rows: Any, target: np.ndarray) -> Any:
        loss = model.get_param("loss_function") or ""
        name = loss.split(":")[0]
        ranks = name.startswith(("Query", "YetiRank", "PairLogit", "Stochastic", "LambdaMart"))
        return model.fit(catboost.Pool(rows, target, group_id=np.arange(len(target)) // 30 if ranks else None))

    def make(group: str, options: dict[str, Any]) -> Any:
        if group == "ranking":
            return catboost.CatBoost(options)
        return (catboost.CatBoostRegressor if group == "regression" else catboost.CatBoostClassifier)(**options)

    def add(group: str, name: str, target: Target, nulls: bool = True, **options: Any) -> None:
        out.append(Model(group, name, lambda: make(group, own | options), target, nulls=nulls, fit=fit))
    for loss, target in [
            ("RMSE", number), ("MAE", number), ("Quantile:alpha=0.3", number), ("LogLinQuantile:alpha=0.3", above_zero),
            ("MAPE", above_zero), ("Lq:q=2.5", number), ("Expectile:alpha=0.3", number), ("Huber:delta=1.5", number),
            ("LogCosh", number), ("Poisson", positive), ("Tweedie:variance_power=1.4", positive),
            ("RMSEWithUncertainty", number), ("MultiQuantile:alpha=0.1,0.5,0.9", number), ("MultiRMSE", two),
            ("MultiRMSEWithMissingValues", two), ("SurvivalAft", two), ("Cox", above_zero)]:
        add("regression", loss.replace(":", " "), target, loss_function=loss)
    for loss, target in [("Logloss", yes_or_no), ("CrossEntropy", share), ("Focal:focal_alpha=0.3;focal_gamma=2", yes_or_no)]:
        add("binary", loss, target, loss_function=loss)
    for count in (2, 3, 5, 10):
        for loss in ("MultiClass", "MultiClassOneVsAll"):
            add("classes", f"{loss}, {count}", classes(count), loss_function=loss)
    for loss in ("MultiLogloss", "MultiCrossEntropy"):
        add("classes", loss, two_flags, loss_function=loss)
    for loss in ("QueryRMSE", "QuerySoftMax", "QueryCrossEntropy", "YetiRank", "YetiRankPairwise", "PairLogit",
                 "PairLogitPairwise", "StochasticRank:metric=NDCG", "StochasticFilter", "LambdaMart"):
        add("ranking", loss, yes_or_no if loss == "QueryCrossEntropy" else three, loss_function=loss)
    usual = {"regression": ("RMSE", number), "binary": ("Logloss", yes_or_no), "classes": ("MultiClass", three)}
    options: list[tuple[str, bool, dict[str, Any]]] = [
        *[(f"nan_mode {mode}", mode != "Forbidden", {"nan_mode": mode}) for mode in ("Min", "Max", "Forbidden")],
        *[(f"borders {count}", True, {"border_count": count}) for count in (1, 32, 254, 255, 1000)],
        *[(f"borders by {kind}", True, {"feature_border_type": kind})
          for kind in ("Median", "Uniform", "UniformAndQuantiles", "MaxLogSum", "MinEntropy", "GreedyLogSum")],
        *[(f"grow_policy {policy}", True, {"grow_policy": policy}) for policy in ("Lossguide", "Depthwise")],
        ("depth 1", True, {"depth": 1}), ("depth 10", True, {"depth": 10}), ("one tree", True, {"iterations": 1}),
        ("ordered", True, {"boosting_type": "Ordered"}), ("from average", True, {"boost_from_average": True}),
        ("not from average", True, {"boost_from_average": False}), ("no nulls", False, {}),
        ("langevin", True, {"langevin": True, "posterior_sampling": False}), ("200 trees", True, {"iterations": 200}),
        ("leaves regularized", True, {"l2_leaf_reg": 30, "model_size_reg": 1}), ("balanced", True,
                                                                                {"auto_class_weights": "Balanced"})]
    for group, (loss, target) in usual.items():
        for name, nulls, more in options:
            if name == "balanced" and group == "regression":
                continue
            add(group, f"{loss}, {name}", target, nulls=nulls, loss_function=loss, **more)
    for name, target in (("shifted labels", shifted), ("words", words(three)), ("words of two", words(yes_or_no)),
                         ("real labels", lambda rows: three(rows) + 0.5), ("flags", lambda rows: yes_or_no(rows) == 1)):
        many = name in ("shifted labels", "words", "real labels")
        add("labels", name, target, loss_function="MultiClass" if many else "Logloss")
    return out
